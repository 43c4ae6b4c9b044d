/** Tests of calls that a human is asked about, for turns in the same process and for turns in workers. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type Agent,
  type AgentToolOptions,
  agentTool,
  createAgent,
  type Json,
  type Middleware,
  type Tool,
  tool,
} from '@meanwhile/core'
import { approve, redact } from '@meanwhile/middleware'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { InsideCard, ThreadStore, Threads, Turn } from '../src/index.ts'

export interface AskingThreads {
  newStore(): ThreadStore
  /** Opens threads over the store, in another process than those before. */
  opened(store: ThreadStore, agent: Agent): Threads<never>
}

interface Given extends Pick<AgentToolOptions, 'events'> {
  readonly background?: boolean
  readonly makes?: boolean
  readonly masked?: boolean
  readonly wrapped?: boolean
  readonly relays?: boolean
}

/**
 * An agent named `main` that calls `clerk`, an agent that pays twice and lets the caller choose, or with `relays` calls a tool that pays; with `makes` a
 * tool that pays itself; with `wrapped` it pays itself.
 */
function asking({
  background = false,
  events = true,
  makes = false,
  masked = false,
  wrapped = false,
  relays = false,
}: Given) {
  const ran: unknown[] = []
  const amount = z.object({ n: z.number() })
  const pay = tool({
    name: 'pay',
    description: 'p',
    input: amount,
    execute(input) {
      ran.push(input)
      return `paid ${input.n}`
    },
  }) as Tool
  const choose = tool({ name: 'choose', description: 'c', input: amount }) as Tool
  const middleware = [approve({ tools: ['pay'] })]
  const relay = tool({
    name: 'relay',
    description: 'r',
    input: z.object({}),
    execute: async (_, { run, callId }) =>
      (await run?.callTool({ type: 'tool-call', id: `${callId}/1`, name: 'pay', input: { n: 3 } }))?.output,
  }) as Tool
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays.',
    model: relays
      ? says('Done.', call('relay', {}, { id: 'r' }))
      : says('Done.', call('pay', { n: 1 }, { id: 'p' }), call('choose', { n: 2 }, { id: 'c' })),
    tools: [pay, choose, relay],
    middleware,
  })
  const change: Middleware = {
    name: 'change',
    wrapToolCall: (made, next) => next(made.name === 'pay' ? { ...made, input: { n: 99_999 } } : made),
  }
  const [name, input] = makes ? ['relay', {}] : wrapped ? ['pay', { n: 4 }] : ['clerk', { request: 'Pay.' }]
  const agent = createAgent({
    name: 'main',
    model: says('Good.', call(name, input, { id: 'm' })),
    tools: [{ ...agentTool(clerk, { events }), background } as Tool, relay, pay],
    middleware: [...(masked ? [redact({ persist: true })] : []), ...(wrapped ? [change] : []), ...middleware],
  })
  return { agent, ran }
}

/**
 * An agent named `main` with the tool `clerk`. With `relays twice` this is an agent that calls a tool twice, which pays with the same id each time. With
 * `runs two` it runs two agents at once, whose models pay, or `choose`, with the same id.
 */
function repeating(how: 'relays twice' | 'runs two', events: boolean, leaf: 'pay' | 'choose' = 'pay') {
  const ran: unknown[] = []
  const amount = z.object({ n: z.number() })
  const pay = tool({ name: 'pay', description: 'p', input: amount, execute: (input) => ran.push(input) }) as Tool
  const choose = tool({ name: 'choose', description: 'c', input: amount }) as Tool
  const relay = tool({
    name: 'relay',
    description: 'r',
    input: amount,
    execute: async (input, { run }) =>
      (await run?.callTool({ type: 'tool-call', id: 'x', name: 'pay', input }))?.output ?? 'not paid',
  }) as Tool
  const clerkOf = (calls: readonly ReturnType<typeof call>[]) =>
    createAgent({
      name: 'clerk',
      description: 'Pays.',
      model: says('Done.', ...calls),
      tools: [pay, choose, relay],
      middleware: [approve({ tools: ['pay'] }), redact({ persist: true })],
    })
  const calls =
    how === 'runs two'
      ? [1, 2].map((n) => [call(leaf, { n }, { id: 'x' })])
      : [[call('relay', { n: 1 }, { id: 'a' }), call('relay', { n: 2 }, { id: 'b' })]]
  const inside = calls.map((some) => agentTool(clerkOf(some), { events }))
  const clerk = tool({
    name: 'clerk',
    description: 'Pays.',
    input: z.object({ request: z.string() }),
    execute: async (input, context) =>
      String(await Promise.all(inside.map(async (one) => one.execute?.(input, context)))),
  }) as Tool
  const agent = createAgent({
    name: 'main',
    model: says('Good.', call('clerk', { request: 'Pay.' }, { id: 'm' })),
    tools: [clerk],
    middleware: [redact({ persist: true })],
  })
  return { agent, ran }
}

/**
 * An agent whose response pays with the id `x`, next to two calls of a tool that pays with the same id. With `isInside` it runs in a call of the agent
 * named `main`.
 */
function sharing(isInside: boolean) {
  const ran: unknown[] = []
  const amount = z.object({ n: z.number() })
  const pay = tool({
    name: 'pay',
    description: 'p',
    input: amount,
    execute({ n }) {
      ran.push(n)
      return `paid ${n}`
    },
  }) as Tool
  const relay = tool({
    name: 'relay',
    description: 'r',
    input: amount,
    execute: async (input, { run }) =>
      (await run?.callTool({ type: 'tool-call', id: 'x', name: 'pay', input }))?.output ?? 'not paid',
  }) as Tool
  const payer = createAgent({
    name: isInside ? 'clerk' : 'main',
    description: 'Pays.',
    model: says(
      'Done.',
      call('relay', { n: 1 }, { id: 'a' }),
      call('pay', { n: 3 }, { id: 'x' }),
      call('relay', { n: 2 }, { id: 'b' }),
    ),
    tools: [pay, relay],
    middleware: [approve({ tools: ['pay'] })],
  })
  const model = says('Good.', call('clerk', { request: 'Pay.' }, { id: 'm' }))
  return { agent: isInside ? createAgent({ name: 'main', model, tools: [agentTool(payer)] }) : payer, ran }
}

/** A model that makes these calls, and then answers with this text. */
function says(last: string, ...calls: readonly ReturnType<typeof call>[]) {
  return scriptedModel(
    Array.from({ length: 9 }, () => ({ messages }) => {
      return messages.some(({ role }) => role === 'assistant') ? respond(say(last)) : respond(...calls)
    }),
  )
}

const short = ({ path, state, input, reason, result }: InsideCard) => {
  const why = state === 'denied' && reason !== undefined ? [reason] : []
  const end = result ? [result.isError === true, result.output ?? result.content[0]] : []
  return [path.map(({ agent, callId }) => `${agent} ${callId}`).join(' / '), state, input, ...why, ...end]
}

const cardsIn = async (threads: Threads<never>) =>
  ((await threads.read('t')).inside ?? []).flatMap(({ cards }) => cards.map(short))

async function eventsOf(turn: Turn | undefined): Promise<unknown> {
  const cards: unknown[] = []
  for await (const event of turn?.events() ?? []) if (event.type === 'inside') cards.push(...event.cards.map(short))
  return cards
}

/** Answers one question after the other, the first of the open ones first. */
async function answerAll(threads: Threads<never>, answers: readonly Json[]): Promise<void> {
  for (const answer of answers) {
    const [{ id } = { id: '' }] = (await threads.read('t')).interrupts
    await (await threads.answer('t', { [id]: answer })).result
  }
}

export function askedBehaviours({ newStore, opened }: AskingThreads): void {
  const asked = async (given: Given) => {
    const made = asking(given)
    const store = newStore()
    const threads = opened(store, made.agent)
    await (await threads.send('t', 'Go')).result
    return { ...made, store, threads }
  }
  const waiting = [
    ['clerk m / pay p', 'asked', { n: 1 }],
    ['clerk m / choose c', 'asked', { n: 2 }],
  ]
  const chosen = [
    ['clerk m / choose c', 'allowed', { n: 2 }],
    ['clerk m / choose c', 'ended', { n: 2 }, false, 'chosen'],
  ]

  const answers = {
    allow: [
      { decision: 'allow' },
      ['clerk m / pay p', 'allowed', { n: 1 }],
      ['clerk m / pay p', 'ended', { n: 1 }, false, 'paid 1'],
    ],
    deny: [
      { decision: 'deny', reason: 'No.' },
      ['clerk m / pay p', 'denied', { n: 1 }],
      // The reason is that of the decision, which a middleware may have masked.
      ['clerk m / pay p', 'denied', { n: 1 }, 'No.'],
      ['clerk m / pay p', 'ended', { n: 1 }, true, { type: 'text', text: 'Not run: the call was denied: No.' }],
    ],
    edit: [
      { decision: 'edit', input: { n: 5 } },
      ['clerk m / pay p', 'allowed', { n: 1 }],
      ['clerk m / pay p', 'allowed', { n: 5 }],
      ['clerk m / pay p', 'ended', { n: 5 }, false, 'paid 5'],
    ],
  } satisfies Readonly<Record<string, readonly Json[]>>

  test.for(
    [false, true].flatMap((background) =>
      (['allow', 'deny', 'edit'] as const).map((decision) => ({ decision, background })),
    ),
  )(
    'a thread keeps what was asked inside a call, what was decided, and how the calls ended: %j (W49, AG3)',
    async ({ decision, ...given }) => {
      const [answer, ...ends] = answers[decision]
      const { threads } = await asked(given)
      expect(await cardsIn(threads)).toEqual(waiting)
      await answerAll(threads, [answer as Json, 'chosen'])
      expect((await threads.read('t')).status).toBe('idle')
      expect(await cardsIn(threads)).toEqual([...waiting, ...ends, ...chosen])
      expect(await eventsOf(await threads.turn('t'))).toEqual([...waiting, ...ends, ...chosen])
    },
  )

  test('if the agent inside tells no events, its cards keep what was decided, with the edited input, and what the caller chose (W49, AG5)', async () => {
    const { threads, ran } = await asked({ events: false })
    await answerAll(threads, [{ decision: 'edit', input: { n: 5 } }, 'chosen'])
    const decided = ['clerk m / pay p', 'allowed']
    expect(await cardsIn(threads)).toEqual([...waiting, [...decided, { n: 1 }], [...decided, { n: 5 }], ...chosen])
    expect(ran).toEqual([{ n: 5 }])
    expect((await threads.read('t')).decisions).toMatchObject([{ decision: 'edit', input: { n: 5 } }])
  })

  test.for([true, false])(
    'redact with persist masks the edited input of a call inside a call in the thread, with the events of the agent: %s (W53, AG10)',
    async (events) => {
      const { threads, ran } = await asked({ events, masked: true })
      const n = 4_111_111_111_111_111
      await answerAll(threads, [{ decision: 'edit', input: { n } }, 'chosen'])
      const { inside, decisions } = await threads.read('t')
      expect(JSON.stringify([inside, decisions])).not.toContain(String(n))
      expect(await cardsIn(threads)).toContainEqual(['clerk m / pay p', 'allowed', { n: '[card-number]' }])
      expect(decisions).toMatchObject([{ decision: 'edit', input: { n: '[card-number]' } }])
      expect(ran).toEqual([{ n }])
    },
  )

  test.for([true, false])(
    'redact with persist masks the edited input of a call that a tool of an agent inside makes, with the events of the agent: %s (W53, AG10)',
    async (events) => {
      const { threads, ran } = await asked({ events, masked: true, relays: true })
      const n = 4_111_111_111_111_111
      await answerAll(threads, [{ decision: 'edit', input: { n } }])
      expect(JSON.stringify((await threads.read('t')).inside)).not.toContain(String(n))
      expect(await cardsIn(threads)).toContainEqual(['clerk m / relay r / pay r/1', 'allowed', { n: '[card-number]' }])
      expect(ran).toEqual([{ n }])
    },
  )

  test('a call that a tool makes itself has its card in the call of the tool (W49)', async () => {
    const { threads, ran } = await asked({ makes: true })
    await answerAll(threads, [{ decision: 'edit', input: { n: 6 } }])
    const of = (...rest: readonly unknown[]) => ['relay m / pay m/1', ...rest]
    const decided = [of('allowed', { n: 3 }), of('allowed', { n: 6 }), of('ended', { n: 6 }, false, 'paid 6')]
    expect(await cardsIn(threads)).toEqual([of('asked', { n: 3 }), ...decided])
    expect(ran).toEqual([{ n: 6 }])
  })

  test('a call of the turn is kept if the question had another input than the model wrote, and once it is decided (W34, W49)', async () => {
    const { threads, ran } = await asked({ wrapped: true })
    expect(await cardsIn(threads)).toEqual([['pay m', 'asked', { n: 99_999 }]])
    await answerAll(threads, [{ decision: 'deny' }])
    expect(await cardsIn(threads)).toEqual([
      ['pay m', 'asked', { n: 99_999 }],
      ['pay m', 'denied', { n: 99_999 }],
    ])
    expect(JSON.stringify((await threads.read('t')).messages)).not.toContain('99999')
    expect(ran).toEqual([])
  })

  test.for(['stop', 'message'])(
    'a call of the turn about which nobody decided counts as denied, with the reason: %s (W34)',
    async (end) => {
      const { threads } = await asked({ wrapped: true })
      if (end === 'stop') await threads.stop('t')
      else await (await threads.send('t', 'Never mind')).result
      const reason = end === 'stop' ? 'The user stopped this.' : 'The user wrote a message instead of answering.'
      expect((await cardsIn(threads)).slice(0, 2)).toEqual([
        ['pay m', 'asked', { n: 99_999 }],
        ['pay m', 'denied', { n: 99_999 }, reason],
      ])
    },
  )

  test.for(
    ['stop', 'message'].flatMap((end) =>
      [{}, { background: true }, { events: false }].map((given) => [end, given] as const),
    ),
  )('the cards of questions that nobody answered end with the turn: %s, %j (W49, AG9)', async ([end, given]) => {
    const { threads } = await asked(given)
    await answerAll(threads, [{ decision: 'allow' }])
    if (end === 'stop') await threads.stop('t')
    else await (await threads.send('t', 'Never mind')).result
    const state = await threads.read('t')
    const own = state.inside?.filter(({ turn }) => turn === state.turns[0]?.id) ?? []
    const card = own.flatMap(({ cards }) => cards).findLast(({ path }) => path.at(-1)?.callId === 'c')
    expect(card).toMatchObject({ state: 'ended', result: { callId: 'c', name: 'choose', isError: true } })
    const reason = end === 'stop' ? 'The user stopped this.' : 'The user wrote a message instead of answering.'
    expect(JSON.stringify(card?.result)).toContain(reason)
  })

  /** Answers the open questions at once, until there are none: those about the amount 1 with the first answer, those about 2 with the second. */
  const answeredAtOnce = async ({ agent }: ReturnType<typeof repeating>, answers: readonly Json[]) => {
    const threads = opened(newStore(), agent)
    await (await threads.send('t', 'Go')).result
    for (;;) {
      const { interrupts, inside = [], status } = await threads.read('t')
      if (status === 'idle') return inside.flatMap(({ cards }) => cards)
      const given = interrupts.map(({ id, payload }): [string, Json] => [
        id,
        answers[Object(payload).input.n - 1] ?? null,
      ])
      await (await threads.answer('t', Object.fromEntries(given))).result
    }
  }

  test.for(
    (['relays twice', 'runs two'] as const).flatMap((how) => [true, false].map((events) => [how, events] as const)),
  )(
    'if an agent inside %s and calls with one id wait at once, each card has only what was decided about its own call, with the events of the agent: %s (W49, W51, AG9)',
    async ([how, events]) => {
      const edited = { decision: 'edit', input: { n: 4_111_111_111_111_111 } }
      const made = repeating(how, events)
      const cards = await answeredAtOnce(made, [{ decision: 'deny', reason: 'No.' }, edited])
      const [first, second] = [true, false].map((isFirst) =>
        cards.filter(({ input }) => (Object(input).n === 1) === isFirst),
      )
      expect(first?.map(({ state }) => state)).not.toContain('allowed')
      expect(first).toContainEqual(expect.objectContaining({ state: 'denied', reason: 'No.' }))
      expect(second?.map(({ state }) => state)).not.toContain('denied')
      // It is masked, as the decision is.
      expect(JSON.stringify(cards)).not.toContain(String(edited.input.n))
      if (how === 'relays twice') expect(second?.at(-1)).toMatchObject({ input: { n: '[card-number]' } })
      expect(made.ran).toEqual([edited.input])
    },
  )

  const orders = [
    [1, 2, 3],
    [3, 1, 2],
    [2, 3, 1],
  ]
  test.for([false, true].flatMap((isInside) => orders.map((order) => ({ isInside, order }))))(
    'calls of one id that a model and two tools make at once each ask, and each has its own end: %j (W49, AG9)',
    async ({ isInside, order }) => {
      const { agent, ran } = sharing(isInside)
      const threads = opened(newStore(), agent)
      await (await threads.send('t', 'Go')).result
      const answers: readonly Json[] = [
        { decision: 'allow' },
        { decision: 'deny', reason: 'No.' },
        { decision: 'edit', input: { n: 30 } },
      ]
      const amountOf = ({ payload }: { readonly payload: Json }) => Object(payload).input.n
      for (const [index, n] of order.entries()) {
        const { interrupts } = await threads.read('t')
        expect(new Set(interrupts.map(amountOf))).toEqual(new Set(order.slice(index)))
        const id = interrupts.find((one) => amountOf(one) === n)?.id ?? ''
        await (await threads.answer('t', { [id]: answers[n - 1] ?? null })).result
      }
      const last = new Map((await cardsIn(threads)).map(([path, ...rest]) => [path, rest]))
      const around = isInside ? 'clerk m / ' : ''
      const denied = { type: 'text', text: 'Not run: the call was denied: No.' }
      expect(Object.fromEntries(last)).toEqual({
        [`${around}relay a / pay x`]: ['ended', { n: 1 }, false, 'paid 1'],
        [`${around}relay b / pay x`]: ['ended', { n: 2 }, true, denied],
        // The thread has the result of a call of the turn itself.
        [`${around}pay x`]: isInside ? ['ended', { n: 30 }, false, 'paid 30'] : ['allowed', { n: 30 }],
      })
      expect(new Set(ran)).toEqual(new Set([1, 30]))
    },
  )

  test('if agents inside wait at once with calls of one id that the caller executes, a card has the output for its own input (W49, W51, AG9)', async () => {
    const cards = await answeredAtOnce(repeating('runs two', false, 'choose'), ['one', 'two'])
    const ended = cards.flatMap(({ input, result }) => (result ? [[Object(input).n, result.output]] : []))
    expect(ended.length).toBeGreaterThan(0)
    for (const [n, output] of ended) expect(output).toBe(n === 1 ? 'one' : 'two')
  })

  test('a process that goes on with a turn that waits knows the cards that another one has told (W49, AG3)', async () => {
    const made = await asked({})
    await made.threads.close()
    const second = opened(made.store, made.agent)
    await answerAll(second, [{ decision: 'edit', input: { n: 5 } }])
    await second.close()
    const third = opened(made.store, made.agent)
    await answerAll(third, ['chosen'])
    const pay = ['clerk m / pay p', 'allowed']
    const ended = ['clerk m / pay p', 'ended', { n: 5 }, false, 'paid 5']
    expect(await cardsIn(third)).toEqual([...waiting, [...pay, { n: 1 }], [...pay, { n: 5 }], ended, ...chosen])
    expect(made.ran).toEqual([{ n: 5 }])
  })

  test('a copy of a thread has its cards, and a thread that goes back has them no more (W49)', async () => {
    const { threads } = await asked({ makes: true })
    await answerAll(threads, [{ decision: 'allow' }])
    const copy = await threads.fork('t')
    expect((await threads.read(copy)).inside?.map(({ cards }) => cards)).toEqual(
      (await threads.read('t')).inside?.map(({ cards }) => cards),
    )
    const [{ messageId } = { messageId: '' }] = (await threads.read('t')).turns
    await threads.rewind('t', { before: messageId })
    expect(await threads.read('t')).not.toHaveProperty('inside')
  })
}
