/** A client that only reads and parses what a server sends, which is the least that any client costs. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpuSince } from './processor-time.ts'

/** The processor time of one request to this program, in milliseconds. */
export async function bareCost(program: string, args: readonly string[], method: string): Promise<number> {
  const server = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(server, 'spawn')
  const before = process.cpuUsage()
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method })}\n`)
  let pieces: Buffer[] = []
  for await (const chunk of server.stdout as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf('\n')
    pieces.push(chunk.subarray(0, end < 0 ? chunk.length : end))
    if (end < 0) continue
    const text = Buffer.concat(pieces).toString()
    pieces = [chunk.subarray(end + 1)]
    const lines = text.split('\n')
    if (lines.some((line) => (JSON.parse(line) as { readonly id?: number }).id === 1)) break
  }
  const cost = cpuSince(before)
  server.kill()
  return cost
}
