/** An agent whose model answers depending on the user message. */

import { setTimeout } from 'node:timers/promises'
import { call, fail, respond, type ScriptResponse, say, scriptedModel, think, wait } from '@meanwhile/assemble/testing'
import {
  type Agent,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  type ModelRequest,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, retryModel } from '@meanwhile/middleware'
import { z } from 'zod'
import { gate } from './gate.ts'

export const SECRET = 'postgres://admin:hunter2@10.0.0.7/users'

export interface Chat {
  readonly agent: Agent
  /** What the tools did. */
  readonly did: string[]
  /** The messages that each model call received. */
  readonly asked: (readonly string[])[]
  /** Opens the gate for everything that waits at it. */
  open(): void
}

/** Removes the calls about `drop`, and changes those about `edit`. */
const changing: Middleware = {
  name: 'changing',
  afterModel(state) {
    const last = state.messages.at(-1)
    if (last?.role !== 'assistant' || !/"(drop|edit)"/.test(JSON.stringify(last.content))) return state
    const content = last.content.flatMap((part) => {
      const input = JSON.stringify(part.type === 'tool-call' ? part.input : undefined) ?? ''
      if (input.includes('"drop"')) return []
      return input.includes('"edit"') ? [{ ...part, input: JSON.parse(input.replace('"edit"', '"edited"')) }] : [part]
    })
    return { ...state, messages: [...state.messages.slice(0, -1), { ...last, content }] }
  },
}

/** `early`: whether calls start while the model is writing. */
export function chat({ early = false } = {}): Chat {
  const did: string[] = []
  const asked: string[][] = []
  const { opened, open: openGate } = gate()
  let isOpen = false
  const mail = tool({
    name: 'mail',
    description: 'Sends mail.',
    input: z.object({ to: z.string() }),
    execute: ({ to }) => {
      did.push(`mail ${to}`)
      return { sent: to }
    },
  })
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ at: z.string() }),
    effect: 'read',
    async *execute({ at }) {
      yield { progress: 0.5, message: 'half' }
      did.push(`look ${at}`)
      return `seen ${at}`
    },
  })
  const broken = tool({
    name: 'broken',
    description: 'Fails.',
    input: z.object({}),
    effect: 'read',
    execute: () => {
      throw new Error(`cannot connect to ${SECRET}`)
    },
  })
  const choose = tool({
    name: 'choose',
    description: 'Lets the user choose.',
    input: z.object({ of: z.array(z.string()) }),
    output: z.object({ chosen: z.string() }),
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute(_, { answers }) {
      if (answers.length === 0) interrupt({ question: 'How many?' }, { answer: z.object({ count: z.number() }) })
      return answers[0]
    },
  })
  const slow = tool({
    name: 'slow',
    description: 'Waits.',
    input: z.object({}),
    async *execute(_, { signal }) {
      did.push('slow')
      yield { progress: 0.5, message: 'half' }
      await Promise.race([
        opened,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ])
      return 'at last'
    },
  })
  const build = tool({
    name: 'build',
    description: 'Builds.',
    input: z.object({}),
    background: true,
    async *execute(_, { signal }) {
      did.push('build')
      yield { progress: 0.5, message: 'half' }
      await setTimeout(2, undefined, { signal })
      return 'built'
    },
  })
  const script = ({ messages }: ModelRequest): ScriptResponse => {
    asked.push(messages.map((message) => `${message.role}: ${textOf(message)}`))
    const last = messages.at(-1)
    const text = textOf(messages.findLast(({ role }) => role === 'user') as Message)
    if (text.startsWith('The background')) return respond(say('It is built.'))
    if (last?.role === 'tool' && last.isError) return respond(say('It has failed.'))
    if (last?.role === 'tool') return respond(think('So.'), say(`So: ${textOf(last).slice(0, 40)}.`))
    if (text.includes('mail both'))
      return respond(say('I write.'), call('mail', { to: 'ada' }), call('look', { at: 'x' }))
    if (text.includes('mail two')) return respond(call('mail', { to: 'ada' }), call('mail', { to: 'bob' }))
    if (text.includes('mail')) return respond(say('I write.'), call('mail', { to: 'ada' }))
    if (text.includes('look'))
      return respond(think('Where?'), say('I look.'), call('look', { at: 'x' }), call('look', { at: 'y' }))
    if (text.includes('early'))
      return respond(
        say('I look.'),
        call('look', { at: 'x' }),
        call('look', { at: 'drop' }),
        call('broken', {}),
        wait(1),
        say('And there.'),
        call('look', { at: 'edit' }),
        ...(text.includes('choose') ? [call('choose', { of: ['a'] })] : []),
        wait(1),
      )
    if (text.includes('broken')) return respond(call('broken', {}))
    if (text.includes('hooked'))
      return respond(say('I look.'), call('look', { at: 'edit' }), call('look', { at: 'drop' }))
    if (text.includes('unasked'))
      return respond(call('choose', { of: ['drop'] }), call('choose', { of: ['edit'] }), call('mail', { to: 'drop' }))
    if (text.includes('choose')) return respond(call('choose', { of: ['a', 'b'] }))
    if (text.includes('ask')) return respond(call('ask', {}))
    if (text.includes('build')) return respond(say('I build.'), call('build', {}), call('look', { at: 'x' }))
    if (text.includes('slow')) return respond(say('I wait.'), call('slow', {}))
    if (text.includes('flaky') && !isOpen) {
      isOpen = true
      return respond(
        think('Hm'),
        say('Not this'),
        call('look', { at: 'z' }),
        wait(1),
        fail({ status: 503, message: SECRET }),
      )
    }
    if (text.includes('fails') && !isOpen) return respond(say('I begin'), fail({ status: 400, message: SECRET }))
    if (text.includes('story')) return respond(...Array.from({ length: 40 }, (_, n) => say(`w${n} `)))
    return respond(say(`You said ${text}.`))
  }
  const model = scriptedModel(Array.from({ length: 5_000 }, () => script))
  const agent = createAgent({
    name: 'chat',
    model,
    tools: [mail, look, broken, choose, ask, slow, build] as Tool[],
    middleware: [
      changing,
      approve({ tools: ['mail'] }),
      retryModel({ maxRetries: 1, baseDelay: 1 }),
      ...(early ? [eagerTools()] : []),
    ],
  })
  const open = () => {
    isOpen = true
    openGate()
  }
  return { agent, did, asked, open }
}
