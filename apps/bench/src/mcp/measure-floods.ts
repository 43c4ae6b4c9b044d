/** Measures what a server that sends very much costs our process, in processor time, without that of the server. Its argument is how much. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { type McpMiddleware, mcp } from '@meanwhile/mcp'
import { bareCost } from './bare-client.ts'
import { cpuSince } from './processor-time.ts'

const MANY = Number(process.argv[2] ?? 100_000)
const PROGRAM = new URL('./flood-process.ts', import.meta.url).pathname

function flooding(tools: number, reports = 0): McpMiddleware {
  const args = [PROGRAM, String(tools), String(reports)]
  return mcp({ servers: { flood: { command: process.execPath, args } }, limits: { tools: MANY } })
}

/** The processor time of a run, in milliseconds. With a text, it calls the first tool. */
async function costOf(servers: McpMiddleware, text?: string): Promise<number> {
  const script = [...(text === undefined ? [] : [respond(call('tool_0', { text }))]), respond(say('done'))]
  const before = process.cpuUsage()
  await createAgent({ model: scriptedModel(script), middleware: [servers] }).run('Go')
  return cpuSince(before)
}

const show = (what: string, ms: number) => process.stdout.write(`${what}: ${ms} ms of processor time\n`)

// The client is loaded, and V8 compiles the code.
await using one = flooding(1)
await costOf(one, 'a')
const plain = await costOf(one, 'a')
show('a call', plain)
show('a call with a hostile pattern, more', (await costOf(one, `${'a'.repeat(50)}!`)) - plain)
await using reporting = flooding(1, MANY)
await costOf(reporting)
show(`${MANY} notifications of progress, more`, (await costOf(reporting, 'a')) - plain)
show('the same, only read and parsed', await bareCost(PROGRAM, ['1', String(MANY)], 'tools/call'))
await using many = flooding(MANY)
show(`${MANY} tools, the first run`, await costOf(many))
show(`${MANY} tools, each later run`, await costOf(many))
show('their list, only read and parsed', await bareCost(PROGRAM, [String(MANY)], 'tools/list'))
