import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PathPart, PendingInterrupt } from '@meanwhile/core'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { askedBehaviours } from '../test/asked-behaviours.ts'
import { AskedCalls } from './asked-calls.ts'
import { createThreads, memoryThreads, type ThreadEventBody, type Threads } from './index.ts'
import { sqliteThreads } from './sqlite.ts'

const scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))
afterAll(() => rm(scratch, { recursive: true }))

describe.each(['memory', 'sqlite'])('%s', (kind) => {
  let files = 0
  askedBehaviours({
    newStore() {
      if (kind === 'memory') return memoryThreads()
      const folder = join(scratch, String(++files))
      const store = sqliteThreads(`${folder}.db`)
      onTestFinished(async () => {
        store.close()
        await rm(`${folder}.db`, { force: true })
      })
      return store
    },
    opened: (store, agent) => createThreads({ agent, store }) as Threads<never>,
  })
})

const message = { role: 'tool', callId: 'p', name: 'pay', content: [{ type: 'text', text: 'paid' }] } as const

/** Allows a call of `pay` with the id `p` in these calls. */
function allow(asked: AskedCalls, ...within: readonly PathPart[]): void {
  const question: PendingInterrupt = {
    id: 'q',
    address: [
      { agent: 'main' },
      ...within.map(({ agent: tool, callId }) => ({ tool, callId })),
      { tool: 'pay', callId: 'p' },
      { middleware: 'approve', hook: 'wrapToolCall' },
    ],
    payload: { tool: 'pay', input: { n: 1 } },
  }
  asked.waits([question])
  asked.answered([question], { q: { decision: 'allow' } })
}

test('what an agent in the background tells while the model writes comes after the message, so a page that is loaded again has it at the same place (W49)', () => {
  const step = { runId: 'turn', step: 2 }
  const model = { provider: 'p', id: 'm' }
  const said: ThreadEventBody = {
    ...step,
    type: 'message',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Soon.' }], finishReason: 'stop' },
  }
  const path = [{ agent: 'clerk', callId: 'm' }]
  const asked = new AskedCalls()
  allow(asked, ...path)
  const told = [
    { ...step, type: 'attempt-start', attempt: 1, model },
    { ...step, type: 'tool-end', callId: 'p', toolName: 'pay', message, path },
    said,
  ] satisfies readonly ThreadEventBody[]
  expect(told.map((event) => asked.read(event).flatMap(({ cards }) => cards.map(({ state }) => state)))).toEqual([
    [],
    [],
    ['ended'],
  ])
})
