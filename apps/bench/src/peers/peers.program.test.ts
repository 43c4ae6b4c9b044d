import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { measure } from '../measure.ts'
import type { Scenario } from '../scenario.ts'
import { openTransport } from '../transport.ts'
import { exportsOf, PeerExportError } from './driver.ts'
import { findPeers } from './install.ts'
import { peerNotes } from './notes.ts'
import { startPeers } from './peers.ts'
import { spawnPeer } from './spawn-peer.ts'

/** The libraries that have a drop-in are installed here. */
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** A folder in which the AI SDK is installed, and none of the others. */
async function folderWithAiSdk(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'node_modules', '@ai-sdk'), { recursive: true })
  for (const name of ['ai', '@ai-sdk/openai', '@ai-sdk/anthropic']) {
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return folder
}

const input = { key: 'task-1', content: 'say "go"' }

const scenario: Scenario = {
  id: 'small',
  title: 'Small',
  shape: '1 call of 1 ms',
  timing: 'at-once',
  tools: [{ name: 'run_task', effect: 'read', input: z.object({ key: z.string(), content: z.string() }) }],
  turns: [[{ id: 'call_1', tool: 'run_task', input, toolMs: 1 }], []],
  script: [respond(call('run_task', input, { id: 'call_1' })), respond(say('Done.'))],
  answer: 'Done.',
}

test('an installed library makes the runs in its own process, on every wire it supports; for others there is an install command; a failed run has a reason', async () => {
  const { signal } = new AbortController()
  await using peers = await startPeers(await folderWithAiSdk(), signal)
  expect([...peers.running.keys()]).toEqual(['ai'])
  expect(peers.states.map(({ name, problem }) => [name, problem === undefined])).toEqual([
    ['ai', true],
    ['@openai/agents', false],
    ['langchain', false],
    ['@mastra/core', false],
    ['@librechat/agents', false],
  ])
  await using transport = await openTransport('server', signal)
  const ai = peers.running.get('ai')?.run
  if (!ai) throw new Error('no ai')
  for (const wire of ['openai-chat', 'openai-responses', 'anthropic'] as const) {
    const { timeline, wallMs, boundMs } = await measure({ scenario, wire, mode: 'ai' }, ai, transport, signal)
    expect(timeline.calls.map(({ id }) => id)).toEqual(['call_1'])
    expect(wallMs).toBeGreaterThanOrEqual(boundMs ?? Number.NaN)
  }

  const subject = { scenario: { ...scenario, script: [] }, wire: 'anthropic', mode: 'ai' } as const
  await expect(measure(subject, ai, transport, signal)).rejects.toThrow('was not expected')
  const enough = AbortSignal.abort(new Error('enough'))
  await expect(ai(subject, { url: 'http://127.0.0.1:9' }, enough)).rejects.toThrow('enough')
})

test('a run that is stopped rejects with the reason, and its request is abandoned', async () => {
  await using peer = await spawnPeer('ai', { folder: ROOT }, new AbortController().signal)
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const stop = new AbortController()
  const { port } = server.address() as AddressInfo
  const run = peer.run({ scenario, wire: 'anthropic', mode: 'ai' }, { url: `http://127.0.0.1:${port}` }, stop.signal)
  run.catch(() => undefined)
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  const left = once(response, 'close')
  stop.abort(new Error('enough'))
  await expect(run).rejects.toThrow('enough')
  await left
})

test('if nothing is installed, each library is listed with its install command, and no process is started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const found = await findPeers(folder)
  expect(found.map(({ problem }) => problem)).toEqual([
    `ai, @ai-sdk/openai, @ai-sdk/anthropic not installed in ${folder}: npm install ai@latest @ai-sdk/openai@latest @ai-sdk/anthropic@latest`,
    `@openai/agents, zod not installed in ${folder}: npm install @openai/agents@latest zod@latest`,
    `langchain, @langchain/core, @langchain/openai, @langchain/anthropic not installed in ${folder}: npm install langchain@latest @langchain/core@latest @langchain/openai@latest @langchain/anthropic@latest`,
    `@mastra/core, @ai-sdk/openai, @ai-sdk/anthropic, zod not installed in ${folder}: npm install @mastra/core@latest @ai-sdk/openai@latest @ai-sdk/anthropic@latest zod@latest`,
    `@librechat/agents not installed in ${folder}: npm install @librechat/agents@latest`,
  ])
  await using peers = await startPeers(folder, new AbortController().signal)
  expect([...peers.running.keys()]).toEqual([])
})

test('a library that cannot be imported is reported with the reason', async () => {
  const { signal } = new AbortController()
  await expect(spawnPeer('langchain', { folder: await folderWithAiSdk() }, signal)).rejects.toThrow(
    "Cannot find package 'langchain'",
  )
})

test('a version without a required feature is reported', async () => {
  const load = async () => ({ streamText: () => undefined, tool: 5 })
  await expect(exportsOf(load, 'ai', ['streamText', 'tool', 'stepCountIs'] as never)).rejects.toThrow(PeerExportError)
  await expect(exportsOf(load, 'ai', ['streamText', 'tool', 'stepCountIs'] as never)).rejects.toThrow(
    'ai exports no tool, stepCountIs',
  )
})

test('the notes name the libraries without a client for a wire, and those that are not measured', () => {
  const notes = peerNotes([
    { name: '@openai/agents', version: '0.20.0', notOn: ['anthropic'] },
    { name: 'langchain', problem: 'not there', notOn: [] },
  ])
  expect(notes).toContain('@openai/agents: not on anthropic: it has no client for that wire.')
  expect(notes.at(-1)).toBe('langchain: not measured: not there')
})
