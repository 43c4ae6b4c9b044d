import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { journal, ours } from '../test/servers.ts'
import { type McpOptions, mcp } from './index.ts'
import { LineBuffer } from './line-buffer.ts'

const at = (file: string) => new URL(`../test/${file}`, import.meta.url).pathname

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** A file in which servers note the ids of their processes. */
function noted() {
  const folder = mkdtempSync(join(tmpdir(), 'meanwhile-mcp-'))
  const PIDS = join(folder, 'pids')
  return {
    PIDS,
    pids: () => readFileSync(PIDS, 'utf8').split('\n').filter(Boolean).map(Number),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

test('a server that ignores everything does not outlive our process, even if that is killed (MC3)', async () => {
  using log = noted()
  const args = ['--conditions=@meanwhile/source', at('holder-process.ts'), at('stubborn-process.ts'), log.PIDS]
  const holder = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => holder.stdout.once('data', resolve))
  const pids = log.pids()
  expect(pids.filter(isRunning)).not.toEqual([])
  holder.kill('SIGKILL')
  await expect.poll(() => pids.filter(isRunning)).toEqual([])
})

test('what a server writes is read by our buffer, not by that of the client (MC18)', async () => {
  const appended = vi.spyOn(LineBuffer.prototype, 'append')
  onTestFinished(() => appended.mockRestore())
  await using servers = mcp({ servers: { ours: ours() } })
  await createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] }).run('Go')
  expect(Buffer.concat(appended.mock.calls.map(([piece]) => piece)).toString()).toContain('"tools"')
})

test.each(['guard', 'trust'] as const)('close ends such a server, with orphans: %s (MC3)', async (orphans) => {
  using log = noted()
  const stubborn = {
    command: process.execPath,
    args: [at('stubborn-process.ts')],
    env: { PIDS: log.PIDS },
    orphans,
    grace: 300,
  }
  const lines: string[] = []
  const options: McpOptions = { servers: { stubborn: { ...stubborn, stderr: (line) => lines.push(line) } } }
  const servers = mcp(options)
  await createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] }).run('Go')
  const began = performance.now()
  await servers.close()
  // The client by itself would kill it after four seconds.
  expect(performance.now() - began).toBeLessThan(3_500)
  await expect.poll(() => log.pids().filter(isRunning)).toEqual([])
})

test('the protocol of a server is found out once: each connection after the first starts one process (MC2)', async () => {
  using log = journal()
  await using servers = mcp({ servers: { a: ours({ JOURNAL: log.JOURNAL }) } })
  const started = async () => {
    const before = log.lines().length
    await createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] }).run('Go')
    await servers.close()
    return log.lines().length - before
  }
  expect(await started()).toBe(2)
  expect(await started()).toBe(1)
})

test('if the process of a server ends at once, or there is none, the error has its log, but its message has not (MC1)', async () => {
  const program = 'console.error("API_KEY is required"); process.exit(1)'
  const failed = { command: process.execPath, args: ['-e', program] }
  for (const [server, log] of [
    [failed, 'API_KEY is required'],
    [{ command: 'no-such-command' }, 'spawn no-such-command ENOENT'],
  ] as const) {
    await using servers = mcp({ servers: { a: server } })
    const run = createAgent({ model: scriptedModel([]), middleware: [servers] }).run('Go')
    const error = await run.catch((error: unknown) => error)
    expect(error).toMatchObject({
      name: 'McpConnectionError',
      message: 'a: cannot be reached (CONNECTION_CLOSED). Its process has written to its standard error',
      log: [log],
    })
    expect(inspect(error)).not.toContain(log)
  }
})

test('close ends a server that is still silent, and does not wait for its time limits (MC1, MC3)', async () => {
  using log = noted()
  const program = 'require("node:fs").appendFileSync(process.env.PIDS, process.pid + "\\n"); process.stdin.resume()'
  const silent = { command: process.execPath, args: ['-e', program], env: { PIDS: log.PIDS } }
  const servers = mcp({ servers: { silent } })
  const run = createAgent({ model: scriptedModel([]), middleware: [servers] }).run('Go')
  const failed = run.catch((error: unknown) => error)
  await expect.poll(() => existsSync(log.PIDS) && log.pids()).toHaveLength(1)
  await servers.close()
  expect(await failed).toMatchObject({ message: 'silent: was closed before it was connected' })
  expect(log.pids().filter(isRunning)).toEqual([])
})
