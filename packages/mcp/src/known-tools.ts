/** What a run remembers of the tools that it began with. A resume, perhaps in another process, compares. */

import { type Run, runLocal, type Tool, tool } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { Drift } from './drift.ts'
import { mcpOf } from './mcp-tool.ts'

interface Known {
  readonly server: string
  /** The server's name of the tool. */
  readonly tool: string
  readonly hash: string
}

type KnownTools = Readonly<Record<string, Known>>

const isKnown = (value: unknown): value is Known =>
  isRecord(value) && ['server', 'tool', 'hash'].every((name) => typeof value[name] === 'string')

const cell = runLocal<KnownTools>({
  key: 'mcp/tools',
  schema: {
    '~standard': {
      version: 1,
      vendor: 'meanwhile',
      validate: (value) =>
        isRecord(value) && Object.values(value).every(isKnown)
          ? { value: value as KnownTools }
          : { issues: [{ message: 'is not a list of tools' }] },
    },
  },
  initial: {},
})

/**
 * The tools for this run, and what has changed since it began. A tool that its server no longer has is there, so that a resumed run can go on: its
 * calls fail.
 */
export function toolsFor(
  run: Run,
  tools: readonly Tool[],
): { readonly tools: readonly Tool[]; readonly changes: readonly Drift[] } {
  const before = cell(run).value
  if (Object.keys(before).length === 0) {
    cell(run).value = Object.fromEntries(tools.flatMap(knownOf))
    return { tools, changes: [] }
  }
  const now = new Map(tools.flatMap(knownOf))
  const changes: Drift[] = []
  const lost: Tool[] = []
  for (const [name, known] of Object.entries(before)) {
    const found = now.get(name)
    const drift = { server: known.server, name: known.tool, before: known.hash }
    if (!found) lost.push(standIn(name, known))
    if (!found) changes.push(drift)
    else if (found.hash !== known.hash) changes.push({ ...drift, now: found.hash })
  }
  return { tools: [...tools, ...lost], changes }
}

function knownOf(tool: Tool): [name: string, known: Known][] {
  const info = mcpOf(tool)
  return info ? [[tool.name, { server: info.server, tool: info.name, hash: info.hash }]] : []
}

function standIn(name: string, { server, tool: theirs }: Known): Tool {
  return tool({
    name,
    description: 'Not available any more.',
    input: anyObject,
    execute(): never {
      throw new Error(`${server}: the server no longer has ${theirs}`)
    },
  }) as Tool
}

const anyObject = {
  '~standard': {
    version: 1 as const,
    vendor: 'meanwhile',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }) },
  },
}
