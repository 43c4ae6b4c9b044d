/** A server of the 2025 protocol that does not end when its input ends, or when it is asked to. It writes the id of its process to the file PIDS. */

import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

if (process.env.PIDS) appendFileSync(process.env.PIDS, `${process.pid}\n`)
process.on('SIGTERM', () => {})
setInterval(() => {}, 1_000)

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'stubborn', version: '1.0.0' },
  },
  'tools/list': { tools: [] },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line) as { id?: number; method: string }
  if (id === undefined) return
  const result = RESULTS[method]
  const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
})
