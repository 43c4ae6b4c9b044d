/** What a run remembers of the tools that it began with. A resume, perhaps in another process, compares. */

import { type Run, runLocal, type Tool, tool } from '@meanwhile/core'
import { isRecord, setLater } from '@meanwhile/core/calls'
import type { Drift } from './drift.ts'
import { mcpOf } from './mcp-tool.ts'
import { schemaOf, shownSchema } from './schema-of.ts'

interface Known {
  /** Its name in the run. */
  readonly name: string
  readonly server: string
  /** The server's name of the tool. */
  readonly tool: string
  readonly hash: string
}

const isKnown = (value: unknown): value is Known =>
  isRecord(value) && ['name', 'server', 'tool', 'hash'].every((name) => typeof value[name] === 'string')

const KEY = 'mcp/tools'

/** JSON of the tools: a server may have very many, and core looks at each value in an object. */
const cell = runLocal<string>({
  key: KEY,
  schema: schemaOf((value) => typeof value === 'string', 'is not a text'),
  initial: '[]',
})

function knownTools(run: Run): readonly Known[] {
  const tools: unknown = JSON.parse(cell(run).value)
  return Array.isArray(tools) ? tools.filter(isKnown) : []
}

/** The tools of a run, and what has changed since it began. */
interface ToolsOfRun {
  readonly tools: readonly Tool[]
  readonly changes: readonly Drift[]
}

/** What runs remember, and what they compare. */
export class KnownTools {
  /** The tools of the latest run, and their JSON: most runs have the same. */
  #latest: { readonly tools: readonly Tool[]; readonly json: string } = { tools: [], json: '[]' }

  /**
   * The tools for this run, and what has changed since it began. A tool that its server no longer has, or whose server cannot be reached, is there, so
   * that a resumed run can go on: its calls fail.
   */
  toolsFor(run: Run, tools: readonly Tool[]): ToolsOfRun {
    const before = knownTools(run)
    if (before.length === 0) {
      setLater(run, KEY, () => this.#jsonOf(tools))
      return { tools, changes: [] }
    }
    const now = new Map(tools.flatMap(knownOf).map((known) => [known.name, known]))
    const changes: Drift[] = []
    const lost: Tool[] = []
    for (const known of before) {
      const found = now.get(known.name)
      const drift = { server: known.server, name: known.tool, before: known.hash }
      if (!found) lost.push(standIn(known))
      if (!found) changes.push(drift)
      else if (found.hash !== known.hash) changes.push({ ...drift, now: found.hash })
    }
    return { tools: [...tools, ...lost], changes }
  }

  #jsonOf(tools: readonly Tool[]): string {
    const { tools: before, json } = this.#latest
    if (tools.length === before.length && tools.every((tool, index) => tool === before[index])) return json
    this.#latest = { tools, json: JSON.stringify(tools.flatMap(knownOf)) }
    return this.#latest.json
  }
}

function knownOf(tool: Tool): Known[] {
  const info = mcpOf(tool)
  return info ? [{ name: tool.name, server: info.server, tool: info.name, hash: info.hash }] : []
}

function standIn({ name, server, tool: theirs }: Known): Tool {
  return tool({
    name,
    description: 'Not available any more.',
    input: shownSchema({ type: 'object' }, (value) => ({ value })),
    execute(): never {
      throw new Error(`${server}: ${theirs} is missing: the server cannot be reached, or no longer has it`)
    },
  }) as Tool
}
