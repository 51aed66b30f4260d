"""The plugin for opencode, which has plugins instead of hooks: it sends events to the hook program.

Seen with opencode 1.18 in November 2026. A plugin runs inside the client: it must not throw, and not wait long. What it
brings becomes a part of the person's message, for what is added to the system prompt is gone when opencode ends.
"""

import json

from .hooks import HookConnection

COMMAND_IN_PLUGIN = "const [PROGRAM"
"""How the line begins that has the command."""
_SOURCE = """\
// Written by `bigmind connect opencode`, taken out by `bigmind disconnect opencode`.
import { spawn, spawnSync } from "node:child_process"

const [PROGRAM, ...ARGUMENTS] = COMMAND_OF_THE_PROGRAM
const KINDS = KINDS_OF_EVENTS
const SECONDS = 5

const read = (printed) => {
  try {
    return JSON.parse(printed)
  } catch {
    return {}
  }
}

const tell = (event) =>
  new Promise((answer) => {
    try {
      const program = spawn(PROGRAM, ARGUMENTS, {
        stdio: ["pipe", "pipe", "ignore"], timeout: SECONDS * 1000, windowsHide: true,
      })
      let printed = ""
      program.stdout.on("data", (more) => (printed += more))
      program.stdin.on("error", () => {})
      program.on("error", () => answer({}))
      program.on("close", () => answer(read(printed)))
      program.stdin.end(JSON.stringify(event))
    } catch {
      answer({})
    }
  })

const tellAtTheEnd = (event) => {
  try {
    spawnSync(PROGRAM, ARGUMENTS, { input: JSON.stringify(event), timeout: SECONDS * 1000, windowsHide: true })
  } catch {}
}

const contextOf = (answer) => answer?.hookSpecificOutput?.additionalContext ?? ""

export const BigMind = async ({ directory }) => {
  const made = new Set() // conversations that began in this process: others are resumed
  const parents = new Map() // of sub-agents, which write into the session of their parent
  const open = new Map() // conversation -> what the agent said last, until a stop was told
  const texts = new Map() // message -> its role
  const rootOf = (id) => (parents.has(id) ? rootOf(parents.get(id)) : id)
  const event = (name, id, more) => ({ hook_event_name: name, session_id: id, cwd: directory, ...more })
  const stop = (id, said) => event("Stop", id, { stop_hook_active: true, last_assistant_message: said })

  process.on("exit", () => {
    for (const [id, said] of open) {
      if (said && KINDS.includes("stop")) tellAtTheEnd(stop(id, said))
      if (KINDS.includes("end")) tellAtTheEnd(event("SessionEnd", id, { reason: "other" }))
    }
  })

  return {
    event: async ({ event: happened }) => {
      const { type, properties } = happened
      if (type === "session.created") {
        made.add(properties.info.id)
        if (properties.info.parentID) parents.set(properties.info.id, properties.info.parentID)
      } else if (type === "message.updated") {
        texts.set(properties.info.id, properties.info.role)
      } else if (type === "message.part.updated") {
        const { part } = properties
        if (part.type === "text" && texts.get(part.messageID) === "assistant" && open.has(part.sessionID))
          open.set(part.sessionID, part.text)
      } else if (type === "session.idle") {
        const id = properties.sessionID
        const said = open.get(id)
        if (!said) return
        open.set(id, "")
        if (KINDS.includes("stop")) await tell(stop(id, said))
      }
    },
    "chat.message": async (input, output) => {
      const id = input.sessionID
      if (parents.has(id)) return
      const prompt = output.parts
        .filter((part) => part.type === "text" && !part.synthetic)
        .map((part) => part.text)
        .join("\\n")
      const brought = []
      if (!open.has(id)) {
        open.set(id, "")
        if (KINDS.includes("start"))
          brought.push(await tell(event("SessionStart", id, { source: made.has(id) ? "startup" : "resume" })))
      }
      if (KINDS.includes("prompt")) brought.push(await tell(event("UserPromptSubmit", id, { prompt })))
      const text = brought.map(contextOf).filter(Boolean).join("\\n\\n")
      if (text)
        output.parts.push({
          id: `prt_bigmind${Date.now()}`, sessionID: id, messageID: output.message.id,
          type: "text", text, synthetic: true,
        })
    },
    "tool.execute.before": async (input, output) => {
      if (KINDS.includes("tool") && input.tool.startsWith("bigmind_") && open.has(rootOf(input.sessionID)))
        output.args.bigmind_conversation = rootOf(input.sessionID)
    },
    "experimental.session.compacting": async (input) => {
      if (KINDS.includes("compact")) await tell(event("PreCompact", input.sessionID, { trigger: "auto" }))
    },
  }
}
"""


def plugin_of(slug: str, connection: HookConnection) -> str:
    """Return the plugin. It starts the program without a shell, so nothing in a path needs quoting."""
    command = json.dumps(connection.program.words(slug))
    return _SOURCE.replace("COMMAND_OF_THE_PROGRAM", command).replace("KINDS_OF_EVENTS", json.dumps(connection.kinds))
