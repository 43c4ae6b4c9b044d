/** An agent whose model answers according to the words of the user, and functions to read threads. */

import { call, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type Agent,
  createAgent,
  interrupt,
  type Message,
  type Model,
  type ModelRequest,
  textOf,
  tool,
} from '@meanwhile/core'
import { z } from 'zod'
import type { ThreadEvent, ThreadState, Turn } from '../src/index.ts'
import { pausing } from './pausing.ts'

export interface Chat {
  readonly agent: Agent
  /** For each model call: the texts of the messages that it read. */
  readonly asked: (readonly string[])[]
  /** The actions of the tools. */
  readonly did: string[]
  /** Lets the tool `slow` return, and `fails` succeed. */
  open(): void
}

/**
 * The agent acts on words of the last user message: `mail` sends mail after an approval, `look` calls a read tool, `slow` calls a tool that waits for
 * `open`, `story` writes 60 words in 120 deltas, with `delay` milliseconds between the words, and `fails` fails until `open` was called. After
 * `pauseAfter` deltas of a text the model waits for `open`.
 */
export function chat({ delay = 0, pauseAfter = Number.POSITIVE_INFINITY } = {}): Chat {
  const asked: string[][] = []
  const did: string[] = []
  let open = () => {}
  let isOpen = false
  const gate = new Promise<void>((resolve) => {
    open = () => {
      isOpen = true
      resolve()
    }
  })
  const mail = tool({
    name: 'mail',
    description: 'Sends mail.',
    input: z.object({ to: z.string() }),
    execute({ to }, { answers }) {
      if (answers.length === 0) interrupt({ to }, { answer: z.object({ allow: z.boolean() }) })
      did.push(`mail ${to} ${JSON.stringify(answers)}`)
      return `sent to ${to}`
    },
  })
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    effect: 'read',
    execute: () => {
      did.push('look')
      return 'sunny'
    },
  })
  const slow = tool({
    name: 'slow',
    description: 'Waits.',
    input: z.object({}),
    async execute(_, { signal }) {
      did.push('slow')
      await Promise.race([
        gate,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ])
      return 'at last'
    },
  })
  const script = ({ messages }: ModelRequest): ScriptResponse => {
    asked.push(textsOf(messages))
    const last = messages.at(-1)
    const question = textOf(messages.findLast(({ role }) => role === 'user') as Message)
    if (last?.role === 'tool') return respond(say(`So: ${textOf(last)}.`))
    if (question.includes('mail both')) return respond(say('I write.'), call('mail', { to: 'ada' }), call('look'))
    if (question.includes('mail two')) return respond(call('mail', { to: 'ada' }), call('mail', { to: 'bob' }))
    if (question.includes('mail')) return respond(say('I write.'), call('mail', { to: 'ada' }))
    if (question.includes('look')) return respond(say('I look.'), call('look'))
    if (question.includes('slow')) return respond(say('I wait.'), call('slow'))
    if (question.includes('story')) {
      const words = Array.from({ length: 60 }, (_, n) => [say(`w${n} `), ...(delay ? [wait(delay)] : [])])
      return respond(...words.flat())
    }
    if (question.includes('fails') && !isOpen)
      return respond(say('I begin'), fail({ status: 400, code: 'bad', message: 'no' }))
    return respond(say(`You said ${question}.`))
  }
  const scripted = scriptedModel(Array.from({ length: 2_000 }, () => script))
  const model: Model = {
    ...scripted,
    stream: (request) =>
      pausing(scripted.stream(request), pauseAfter, () => Promise.race([gate, aborted(request.signal)])),
  }
  const agent = createAgent({ name: 'chat', model, tools: [mail, look, slow] })
  return { agent, asked, did, open: () => open() }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

export function textsOf(messages: readonly Message[]): string[] {
  return messages.map((message) => `${message.role}: ${described(message)}`)
}

function described(message: Message): string {
  const text = textOf(message)
  if (message.role !== 'assistant') return text
  const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [`[${part.name}]`] : []))
  return [text, ...calls].filter(Boolean).join(' ')
}

/** Returns the messages of a thread as texts. */
export function shown({ messages }: ThreadState): string[] {
  return textsOf(messages.map(({ message }) => message))
}

export async function all(events: AsyncIterable<ThreadEvent>): Promise<ThreadEvent[]> {
  const list: ThreadEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

/** The events that a reader has received so far, and its end. */
export interface Reading {
  readonly received: readonly ThreadEvent[]
  readonly end: Promise<void>
}

export function reading(events: AsyncIterable<ThreadEvent>): Reading {
  const received: ThreadEvent[] = []
  const end = (async () => {
    for await (const event of events) received.push(event)
  })()
  return { received, end }
}

/** Reads a turn up to the first event of this type. */
export async function until(turn: Turn, type: ThreadEvent['type'], count = 1): Promise<ThreadEvent> {
  let found = 0
  for await (const event of turn.events()) if (event.type === type && ++found === count) return event
  throw new Error(`the turn has emitted no ${type}`)
}
