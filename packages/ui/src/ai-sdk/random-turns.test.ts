import { type Answers, textOf } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import { createThreads, memoryThreads, type ThreadEvent, type Threads, type Turn } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chat } from '../../test/agent.ts'
import { collected, fromList } from '../../test/collected.ts'
import { compared } from '../../test/page.ts'
import { peers } from '../../test/peers.ts'
import { toUIMessageStream, toUIMessages } from './index.ts'

const TEXTS = [
  'hello',
  'look',
  'broken',
  'flaky',
  'fails',
  'mail',
  'mail both',
  'mail two',
  'choose',
  'ask',
  'slow',
  'story',
  'hooked',
  'unasked',
  'early',
  'early choose',
  'build',
] as const

/** How a user message comes into the thread: also in the place of the first or the last one, or the last one once more. */
const WAYS = ['send', 'send', 'edit first', 'edit last', 'again'] as const

/** A user message, and what happens after this many events of its turn. */
interface Said {
  readonly text: (typeof TEXTS)[number]
  readonly way: (typeof WAYS)[number]
  readonly at: number
  readonly then: 'nothing' | 'stop' | 'steer' | 'preempt' | 'rejoin'
  /** The reaction to each question. */
  readonly asked: 'allow' | 'deny' | 'edit' | 'one by one' | 'stop' | 'write instead'
  /** Whether a turn that fails is tried again. */
  readonly retries: boolean
}

const said: fc.Arbitrary<Said> = fc.record({
  text: fc.constantFrom(...TEXTS),
  way: fc.constantFrom(...WAYS),
  at: fc.integer({ min: 1, max: 30 }),
  then: fc.constantFrom('nothing', 'stop', 'steer', 'preempt', 'rejoin'),
  asked: fc.constantFrom('allow', 'deny', 'edit', 'one by one', 'stop', 'write instead'),
  retries: fc.boolean(),
})

/** The chunks that a browser received: each response continues the message before. */
interface Followed {
  readonly turn: string
  readonly responses: { readonly events: readonly ThreadEvent[]; readonly after?: string }[]
}

async function eventsOf(turn: Turn, heard: (count: number) => void = () => {}): Promise<readonly ThreadEvent[]> {
  const events: ThreadEvent[] = []
  for await (const event of turn.events()) heard(events.push(event))
  return events
}

function answerTo(payload: unknown, decision: string): Answers[string] {
  const { type, question } = Object(payload)
  if (type === 'tool-call') return { chosen: 'a' }
  if (question !== undefined) return { count: 3 }
  return { decision, ...(decision === 'edit' && { input: { to: 'eve' } }) }
}

/** Begins the turn of a message. Only a thread in which no turn runs replaces one. */
async function begun(threads: Threads, text: string, way: Said['way']): Promise<Turn> {
  if (way === 'send') return threads.send('t', text)
  while ((await threads.read('t')).status === 'running') await (await threads.turn('t'))?.result.catch(() => undefined)
  const { turns, messages } = await threads.read('t')
  const { messageId } = (way === 'edit first' ? turns.at(0) : turns.at(-1)) ?? {}
  const own = messages.find(({ id }) => id === messageId)?.message
  if (messageId === undefined || own?.role !== 'user') return threads.send('t', text)
  if (way === 'again') return threads.send('t', own, { messageId, replacing: messageId })
  return threads.send('t', text, { replacing: messageId })
}

/** Plays the messages in one thread. Returns the chunks of each browser. */
async function played(threads: Threads, all: readonly Said[], open: () => void): Promise<readonly Followed[]> {
  const followed: Followed[] = []
  const others: Promise<unknown>[] = []
  const alongside = (turn: Turn) => {
    const other: Followed = { turn: turn.id, responses: [] }
    others.push(
      eventsOf(turn).then((events) => {
        other.responses.push({ events })
        followed.push(other)
      }),
    )
  }
  for (const { text, way, at, then, asked, retries } of all) {
    const turn = await begun(threads, text, way)
    const own: Followed = { turn: turn.id, responses: [] }
    followed.push(own)
    const act = async () => {
      if (then === 'stop') await threads.stop('t')
      else if (then === 'rejoin') alongside(turn)
      else if (then === 'steer' || then === 'preempt')
        alongside(await threads.send('t', `hello ${then}`, { whenBusy: then }))
      open()
    }
    let acted: Promise<void> | undefined
    const events = await eventsOf(turn, (count) => {
      const isStuck = (text === 'slow' || way === 'again') && count >= 8
      if (count === at || isStuck) acted ??= act()
    })
    await acted
    own.responses.push({ events })
    const newest = (await threads.read('t')).turns.at(-1)
    if (retries && newest?.id === turn.id && newest.status === 'failed') {
      open()
      await threads.retry('t')
      // A page removes its message first, and gets the whole turn.
      own.responses.splice(0, 1, { events: await eventsOf(turn) })
    }
    for (;;) {
      const { status, interrupts, cursor = '', turns } = await threads.read('t')
      if (status !== 'waiting') break
      const waiting = turns.find((one) => one.status === 'waiting')
      if (asked === 'stop' || asked === 'write instead' || waiting?.id !== turn.id) {
        if (asked === 'stop') await threads.stop('t')
        else await (await threads.send('t', 'hello instead')).result
        continue
      }
      const answered = asked === 'one by one' ? interrupts.slice(0, 1) : interrupts
      const decision = asked === 'deny' || asked === 'edit' ? asked : 'allow'
      const answers = Object.fromEntries(answered.map(({ id, payload }) => [id, answerTo(payload, decision)]))
      await threads.answer('t', answers)
      own.responses.push({ events: await eventsOf(turn), after: cursor })
    }
  }
  await Promise.all(others)
  await threads.send('t', 'hello')
  await (await threads.turn('t'))?.result
  return followed
}

test('whatever happens in between, a browser ends up with the messages of the thread, and these are what the model has read (UI1, UI2, UI3, UI5, W35, W36, W38, W39)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 3 }), fc.boolean(), async (all, isEarly) => {
      const { agent, asked, open } = chat({ early: isEarly })
      const threads = createThreads({ agent, store: memoryThreads() })
      const followed = await played(threads, all, open)
      const state = await threads.read('t')
      // What the last turn has read is what the thread shows, except messages of a middleware, which only the model reads.
      const read = asked.at(-1)?.filter((text) => !/^user: (The background|Continue)/.test(text))
      const shown = state.messages.filter(({ message }) => message.role !== 'user' || message.origin === undefined)
      expect(shown.slice(0, -1).map(({ message }) => `${message.role}: ${textOf(message)}`)).toEqual(read)
      for (const { version, read } of peers) {
        const options = { version, ...(version === 6 && { hold: true }) }
        const history = toUIMessages(state, options)
        const expected = (turn: string) =>
          compared(
            history.filter(({ id }) => id === turn),
            version,
          )
        for (const { turn, responses } of followed) {
          let message: UIMessage | undefined
          for (const { events, after } of responses) {
            const stream = toUIMessageStream(fromList(events), { ...options, ...(after && { after }) })
            message = await read(await collected(stream), message)
          }
          // If a turn continued afterwards, a browser has its content so far.
          const end = responses.at(-1)?.events.at(-1)
          const now = state.turns.find(({ id }) => id === turn)
          if (end?.type === 'turn-end' && end.status === now?.status)
            expect(compared(message ? [message] : [], version)).toEqual(expected(turn))
        }
        for (const { id } of state.turns) {
          const replayed = await threads.turn('t', id)
          const message = replayed && (await read(await collected(toUIMessageStream(replayed.events(), options))))
          expect(compared(message ? [message] : [], version)).toEqual(expected(id))
        }
      }
      await threads.close()
    }),
    propertyRuns({ small: 3, middle: 4, whole: 5_000 }),
  )
})
