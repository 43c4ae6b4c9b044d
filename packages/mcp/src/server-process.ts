/** The process of a server that speaks over its standard input and output. */

import type { StdioServer } from './options.ts'

/** How long a server has to end before it is killed, in milliseconds. */
export const GRACE = 800

/**
 * A parent for the server. A server may ignore that its input has ended, and would then outlive a process that was killed. When the input of this
 * process ends, because we close it or because we are gone, it ends the server and all that the server has started. When the server has ended, it ends
 * by a signal: an exit of Node takes tens of milliseconds, in which nobody would know that the calls of the server are lost.
 */
const GUARD = `
const [grace, command, ...args] = process.argv.slice(1)
const server = require('node:child_process').spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'], detached: true })
const kill = (signal) => { try { process.kill(-server.pid, signal) } catch {} }
const end = (ms) => { setTimeout(kill, ms / 2, 'SIGTERM'); setTimeout(kill, ms, 'SIGKILL') }
server.on('error', (error) => { console.error(error.message); process.exit(127) })
server.on('exit', () => { kill('SIGKILL'); process.kill(process.pid, 'SIGKILL') })
server.stdin.on('error', () => {})
process.stdin.on('end', () => end(grace)).on('error', () => end(grace)).pipe(server.stdin)
process.on('SIGTERM', () => { kill('SIGTERM'); end(Math.min(grace, 500)) })
`

/** The command that starts the server, and its arguments. */
export function commandOf<Context>({ command, args = [], grace = GRACE, orphans = 'guard' }: StdioServer<Context>): {
  readonly command: string
  readonly args: string[]
} {
  // Windows has no process groups.
  if (orphans === 'trust' || process.platform === 'win32') return { command, args: [...args] }
  return { command: process.execPath, args: ['-e', GUARD, '--', String(grace), command, ...args] }
}

/** Calls `heard` with each line. */
export function eachLine(heard: (line: string) => void): (chunk: Buffer | string) => void {
  let rest = ''
  return (chunk) => {
    const lines = (rest + String(chunk)).split('\n')
    // A line without an end would grow forever.
    rest = (lines.pop() ?? '').slice(-LONGEST_LINE)
    for (const line of lines) heard(line)
  }
}

const LONGEST_LINE = 64 * 1024
