// A proxy on this machine that adds a key to each request, for programs that cannot send one (the conformance suite).
// `node with-key.mjs URL KEY PORT`, then use http://localhost:PORT/mcp. Stop it when you are done: it opens the door to all.

import http from "node:http";

const [url, key, port] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(url);

http
  .createServer((request, response) => {
    const target = http.request(
      {
        hostname,
        port: targetPort,
        path: request.url,
        method: request.method,
        headers: { ...request.headers, authorization: `Bearer ${key}` },
        setHost: false,
      },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      },
    );
    target.on("error", (error) => response.writeHead(502).end(String(error)));
    response.on("close", () => target.destroy());
    request.pipe(target);
  })
  .listen(Number(port), "127.0.0.1");
