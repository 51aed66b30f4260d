// What a JavaScript file defines, by acorn: for each line of JSON from stdin (the text of a file) a line to stdout,
// [[name, what it does, its literal], …]. Positions, layout, comments and quotes are no part of what it does.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const acorn = createRequire(`${process.argv[2]}/`)("acorn");
const LEFT_OUT = new Set(["start", "end", "raw", "sourceType"]);
const FUNCTIONS = new Set(["FunctionExpression", "ArrowFunctionExpression"]);

const dump = (node) =>
  JSON.stringify(node, (key, value) =>
    LEFT_OUT.has(key) ? undefined : typeof value === "bigint" || value instanceof RegExp ? String(value) : value,
  );

function collect(statements, around, found) {
  const add = (own, node, value = "") => {
    const does = dump(node).replaceAll(`"name":${JSON.stringify(own)}`, '"name":"_"');
    found.push([around + own, does, value]);
  };
  for (const outer of statements) {
    const node = outer.declaration?.type?.endsWith("Declaration") ? outer.declaration : outer;
    if (node.type === "FunctionDeclaration" && node.id) {
      add(node.id.name, node);
      collect(node.body.body, `${around}${node.id.name}.`, found);
    } else if (node.type === "ClassDeclaration" && node.id) {
      add(node.id.name, node);
      for (const member of node.body.body)
        if (member.type === "MethodDefinition" && member.key.type === "Identifier" && member.kind === "method")
          found.push([
            `${around}${node.id.name}.${member.key.name}`,
            dump(member).replaceAll(`"name":${JSON.stringify(member.key.name)}`, '"name":"_"'),
            "",
          ]);
    } else if (node.type === "VariableDeclaration" && !around && node.declarations.length === 1) {
      const [{ id, init }] = node.declarations;
      if (id.type !== "Identifier" || !init) continue;
      if (FUNCTIONS.has(init.type)) add(id.name, node);
      const isSpoken = init.type === "Literal" && !init.regex && !init.bigint && init.raw.length < 40;
      if (isSpoken) add(id.name, node, init.raw);
    }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const found = [];
  for (const sourceType of ["module", "script"])
    try {
      const options = { ecmaVersion: "latest", sourceType, allowHashBang: true, allowReturnOutsideFunction: true };
      collect(acorn.parse(JSON.parse(line), options).body, "", found);
      break;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  console.log(JSON.stringify(found));
}
