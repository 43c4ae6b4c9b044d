import { call, fail, respond, type ScriptedResponse, say } from '@meanwhile/assemble/testing'
import { type Tool, textOf, tool } from '@meanwhile/core'
import type { Threads } from '@meanwhile/threads'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Client } from '../../test/ag-ui.ts'
import { expectEqual, JSON_BODY, stage } from '../../test/ag-ui-stage.ts'
import { gate } from '../../test/gate.ts'
import type { AgUiHandlerOptions } from './index.ts'

// The client warns about everything that it cannot use.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

/** An agent that pays once for each turn, and what it has paid. */
async function paying(options: Partial<AgUiHandlerOptions> = {}, script?: readonly ScriptedResponse[]) {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    execute: () => `Paid ${paid.push(paid.length + 1)}.`,
  }) as Tool
  const turns = Array.from({ length: 9 }, (_, turn) => [respond(call('pay', {})), respond(say(`Answer ${turn + 1}.`))])
  return { paid, ...(await stage(script ?? turns.flat(), { tools: [pay], ...options })) }
}

/** Cuts the list of a client after its first `length` messages, as the buttons of stock clients do. */
function cut({ agent }: Client, length: number) {
  agent.setMessages(agent.messages.slice(0, length))
}

/** What the thread says, without tools. */
async function said(threads: Threads): Promise<readonly string[]> {
  const { messages } = await threads.read('t')
  return messages.flatMap(({ message }) => (message.role === 'tool' ? [] : textOf(message) || []))
}

test('a client that has seen the end of a turn and cuts its list at the message gets another answer, once for each cut (W36)', async () => {
  const { client, threads, paid } = await paying()
  const one = client()
  await one.say('Go')
  for (const answer of ['Answer 2.', 'Answer 3.']) {
    cut(one, 1)
    await one.run()
    await expectEqual(one, threads)
    expect(await said(threads)).toEqual(['Go', answer])
  }
  await one.run()
  expect(paid).toEqual([1, 2, 3])
})

test('a list that is cut at an earlier message replaces its turn, and everything after it (W36)', async () => {
  const { client, threads } = await paying()
  const one = client()
  for (const text of ['First', 'Second', 'Third']) await one.say(text)
  cut(one, 5)
  await one.run()
  await expectEqual(one, threads)
  expect(await said(threads)).toEqual(['First', 'Answer 1.', 'Second', 'Answer 4.'])
})

test('a page that was loaded gets the answer that its list lacks, and can then cut its list (W36)', async () => {
  const { client, threads, paid } = await paying()
  const one = client()
  await one.say('Go')
  const { turns } = await threads.read('t')
  for (const held of [0, 1]) {
    const loaded = client()
    loaded.agent.setMessages(one.agent.messages.slice(0, held))
    await loaded.run()
    await expectEqual(loaded, threads)
    expect((await threads.read('t')).turns).toEqual(turns)
  }
  const loaded = client()
  await loaded.run()
  cut(loaded, 1)
  await loaded.run()
  expect(await said(threads)).toEqual(['Go', 'Answer 2.'])
  expect(paid).toEqual([1, 2])
})

test('a page that has lost its connection, also while another answer was made, gets that answer, and nothing runs again (W36)', async () => {
  const gates = [gate(), gate(), gate()]
  let turns = -1
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    input: z.object({}),
    execute: () => gates[++turns]?.opened.then(() => `Waited ${turns}.`),
  }) as Tool
  const script = [0, 1].flatMap((turn) => [respond(call('wait', {})), respond(say(`Answer ${turn}.`))])
  const { client, threads } = await stage(script, { tools: [wait] })
  const one = client()
  for (const turn of [0, 1]) {
    const lost = turn === 0 ? one.say('Go', 'm1') : one.run()
    await vi.waitFor(() => expect(turns).toBe(turn), { timeout: 20_000 })
    one.agent.abortRun()
    await lost
    gates[turn]?.open()
    await (await threads.turn('t'))?.result
    cut(one, 1)
    await one.run()
    await expectEqual(one, threads)
    expect(await said(threads)).toEqual(['Go', `Answer ${turn}.`])
    cut(one, 1)
  }
  expect(turns).toBe(1)
})

test('the same request, one after the other or at the same time, makes one answer (W36)', async () => {
  const [read, answered] = [gate(), gate()]
  const waits = [read, answered]
  const { client, threads, url, paid } = await paying({
    // Both requests have read the thread before the first one changes it. The second one goes on when the first one has its answer.
    async open(_, __, { action }) {
      if (action !== 'regenerate') return undefined
      const wait = waits.shift()
      if (wait === answered) read.open()
      return wait?.opened.then(() => undefined)
    },
  })
  const one = client()
  await one.say('Go', 'm1')
  const { state, messages } = one.agent
  const request = (runId: string) =>
    fetch(`${url}/api/ag-ui`, {
      method: 'POST',
      headers: JSON_BODY,
      body: JSON.stringify({ threadId: 't', runId, state, messages: messages.slice(0, 1) }),
    }).then((response) => response.text())
  const both = [request('r1'), request('r1')]
  await Promise.race(both)
  answered.open()
  for (const text of [...(await Promise.all(both)), await request('r2')]) expect(text).toContain('RUN_FINISHED')
  expect(await said(threads)).toEqual(['Go', 'Answer 2.'])
  expect(paid).toEqual([1, 2])
})

test('another tab, which has not seen the newest turn, adds its message and gets what it lacks (W36)', async () => {
  const { client, threads, paid } = await paying()
  const [one, other] = [client(), client()]
  await one.say('First')
  await other.run()
  await one.say('Second')
  cut(other, 1)
  await other.run()
  await expectEqual(other, threads)
  cut(other, 4)
  await one.say('Third')
  await other.say('Fourth')
  await expectEqual(other, threads)
  const answers = [1, 2, 3, 4].map((turn) => `Answer ${turn}.`)
  expect(await said(threads)).toEqual(['First', 'Second', 'Third', 'Fourth'].flatMap((text, n) => [text, answers[n]]))
  expect(paid).toHaveLength(4)
})

test('a new message after a list that was cut replaces what is missing, and a new message by itself is added (W36)', async () => {
  const { client, threads } = await paying()
  const one = client()
  for (const text of ['First', 'Second', 'Third']) await one.say(text)
  cut(one, 4)
  await one.say('Other')
  await expectEqual(one, threads)
  expect(await said(threads)).toEqual(['First', 'Answer 1.', 'Other', 'Answer 4.'])
  cut(one, 0)
  await one.say('Alone')
  await expectEqual(one, threads)
  expect(await said(threads)).toEqual(['First', 'Answer 1.', 'Other', 'Answer 4.', 'Alone', 'Answer 5.'])
})

test('a client that gives messages other ids than the thread adds its message (W36)', async () => {
  const { client, threads } = await paying()
  const one = client()
  for (const text of ['First', 'Second']) await one.say(text)
  const own = (id: string, place: number) => (place < 4 ? id : `own-${place}`)
  one.agent.setMessages(one.agent.messages.map((message, place) => ({ ...message, id: own(message.id, place) })))
  await one.say('Third')
  expect(await said(threads)).toEqual(['First', 'Answer 1.', 'Second', 'Answer 2.', 'Third', 'Answer 3.'])
})

test('a turn that has failed is not answered again without `retry`, also not when a retry has completed it (W36)', async () => {
  const { client, threads, paid } = await paying({}, [
    respond(call('pay', {})),
    respond(fail({ status: 400, message: 'no' })),
    respond(say('Done.')),
  ])
  const one = client()
  await one.say('Go')
  const { state } = one.agent
  cut(one, 1)
  expect((await one.run()).at(-1)).toBe('RUN_ERROR')
  await one.run({ forwardedProps: { retry: true } })
  one.agent.setState(state)
  cut(one, 1)
  await one.run()
  await expectEqual(one, threads)
  expect(await said(threads)).toEqual(['Go', 'Done.'])
  expect(paid).toEqual([1])
})

test('`open` is asked whether the turn may be replaced, and nothing changes if not (W24, W36)', async () => {
  // The client also tells what it throws.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const asked: unknown[] = []
  const { client, threads } = await paying({
    async open(_, __, { action, turn }) {
      asked.push([action, (await turn())?.messageId])
      return action === 'regenerate' || action === 'rewind' ? new Response('No.', { status: 403 }) : undefined
    },
  })
  const one = client()
  for (const id of ['m1', 'm2']) await one.say(id, id)
  const messages = [...one.agent.messages]
  asked.length = 0
  cut(one, 1)
  await expect(one.run()).rejects.toThrow('403')
  one.agent.setMessages(messages.slice(0, 4))
  await expect(one.say('Other')).rejects.toThrow('403')
  expect(asked).toEqual([
    ['send', undefined],
    ['regenerate', 'm1'],
    ['send', undefined],
    ['rewind', 'm2'],
  ])
  expect(await said(threads)).toEqual(['m1', 'Answer 1.', 'm2', 'Answer 2.'])
})

test("the end of a turn stands in the client's own state, also if it has none (W36)", async () => {
  const { client, threads } = await paying()
  const one = client()
  one.agent.setState({ colour: 'red' })
  await one.say('Go')
  const [first] = (await threads.read('t')).turns
  expect(one.agent.state).toEqual({ colour: 'red', seenTurn: first?.id })
  one.agent.setState(null)
  await one.say('Bye')
  const { turns } = await threads.read('t')
  expect(one.agent.state).toEqual({ seenTurn: turns[1]?.id })
})

test('what a page has changed in its state while a turn ran stays there (W36)', async () => {
  const { client, threads } = await paying()
  const one = client()
  one.agent.setState({ colour: 'red', size: 1 })
  one.agent.addMessage({ id: 'm1', role: 'user', content: 'Go' })
  await one.run({}, { onTextMessageStartEvent: () => ({ state: { colour: 'blue' } }) })
  const [turn] = (await threads.read('t')).turns
  expect(one.agent.state).toEqual({ colour: 'blue', seenTurn: turn?.id })
})
