/** The hooks and wraps of a world. */

import type { Flow, Message, Middleware, ModelFlow, ToolCall, ToolFlow, ToolMessage } from '../../src/index.ts'
import { textOf, textual, wordOf } from './model.ts'
import type { Place } from './place.ts'
import { atEndOf, ceilingOf, inputOf, letterOf, type Scenario, wordsOf } from './scenario.ts'

/** What a hook of the gate makes of each answer. */
export const EDITED = 'An edited answer'

/** The first is the outermost. */
export function middlewareOf(place: Place): readonly Middleware[] {
  const { through, again, setupAsks, hook, gate, hides, eager, wrap, steps } = place.scenario
  return [
    ...(through ? [passesThrough] : []),
    ...(again ? [againOf(place)] : []),
    ...(setupAsks ? [asking(place)] : []),
    ...(hook ? [hooking(place, hook)] : []),
    ...(gate ? [judging(place, 'a'), judging(place, 'b')] : []),
    retryModel(place),
    ...(hides ? [hiding(place, hides)] : []),
    ...(eager ? [early(place)] : []),
    ...(wordsOf(steps).some((word) => letterOf(word) === 'o') ? [withholding] : []),
    ...(wrap ? [wrapOf(place, wrap)] : []),
  ]
}

/** Each event and the result of the steps, unchanged. */
export const passesThrough: Middleware = {
  name: 'through',
  async *wrapAgent(setup, next) {
    return yield* next(setup)
  },
}

/** When the steps have ended it may call `next` again; while they are running, that throws. */
function againOf({ gates, left, journal }: Place): Middleware {
  return {
    name: 'again',
    async *wrapAgent(setup, next, run) {
      let isOut = false
      const tooEarly = async () => {
        await gates.pass('next', () => (left.again > 0 && !isOut && run.step > 0 ? ['is called early'] : []))
        left.again--
        try {
          await next(setup).next()
        } catch {
          return
        }
        journal.hooked.push('two loops')
      }
      void tooEarly()
      const first = yield* next(setup)
      isOut = true
      const how = await gates.pass('the wrap', () => (left.again > 0 ? ['returns', 'goes again'] : ['returns']))
      if (how === 'returns') return first
      left.again--
      return yield* next(setup)
    },
  }
}

/** Asks once, and then has its answer. */
function ask({ journal, on }: Place, who: string, answers: readonly unknown[]): void {
  if (answers.length === 0) {
    journal.asked.push(who)
    throw on.core.interrupt(`${who}?`)
  }
  if (!journal.asked.includes(who)) journal.misled.push(`${who} has an answer, and has not asked`)
}

function asking(place: Place): Middleware {
  return {
    name: 'setup',
    beforeAgent: (setup, { answers }) => {
      ask(place, 'the setup', answers)
      return setup
    },
  }
}

/** A hook after each response. */
function hooking(place: Place, how: Scenario['hook']): Middleware {
  return {
    name: 'hook',
    async afterModel({ messages }, { signal, answers, step }) {
      if (how === 'edits') return { messages: messages.with(-1, edited(messages.at(-1))) }
      place.reached('the hook is called')
      // A hook that is stopped throws the reason.
      if ((await place.gates.pass('the hook', () => (signal.aborted ? ['stops'] : ['is done']))) === 'stops')
        throw signal.reason
      place.hookAsked = answers.length === 0
      ask(place, `the hook in step ${step}`, answers)
      return undefined
    },
  }
}

/** A hook that judges answers. */
function judging({ gates, left, journal, scenario, on, reached }: Place, name: 'a' | 'b'): Middleware {
  return {
    name,
    async beforeFinalAnswer({ messages }, { signal, answers }) {
      const [message] = messages.slice(-1)
      const text = message ? textOf(message) : ''
      reached(`the hook ${name} is called`)
      const may = () => (signal.aborted ? ['stops'] : left.rejects > 0 ? ['accepts', 'rejects'] : ['accepts'])
      const how = await gates.pass(`the hook ${name}`, may)
      if (how === 'stops') throw signal.reason
      if (name === 'b' && scenario.gate !== true && answers.length === 0) throw on.core.interrupt('judge?')
      journal.hooked.push(`${name} ${text}`)
      if (how === 'accepts')
        return scenario.gate === 'edits' && name === 'a' ? { accept: true, message: textual(EDITED) } : undefined
      left.rejects--
      journal.rejected.push(text)
      return { accept: false, feedback: 'Again' }
    },
  }
}

function retryModel({ on, reached }: Place): Middleware {
  return {
    name: 'retries the model',
    async *wrapModel(request, next) {
      for (;;) {
        try {
          return yield* next(request)
        } catch (error) {
          reached('a wrap has the error of the model')
          if (!(error instanceof on.core.ModelError)) throw error
        }
      }
    },
  }
}

/** Starts calls as soon as the model has streamed them, or the part that they need. */
function early({ scenario, reached, journal }: Place): Middleware {
  const isEarly = ({ name }: ToolCall) =>
    !atEndOf(name) && (scenario.eager === 'bold' || ceilingOf(name) !== 'external')
  return {
    name: 'early',
    async *wrapModel(request, next, run) {
      /** The inputs of which a part has come. */
      const rests = new Map<
        string,
        { readonly comes: (call: ToolCall) => void; readonly fails: (error: Error) => void }
      >()
      const isDiscarded = ({ id }: ToolCall) =>
        journal.now.events.some(
          (event) => event.type === 'tool-discarded' && event.callId === id && event.cause !== 'run_aborted',
        )
      const otherThan = (call: ToolCall, message: ToolMessage) => {
        const isOwn = message.isError || textOf(message).includes(wordOf(call))
        return isOwn && !isDiscarded(call) ? [] : [`${wordOf(call)}: ${textOf(message)}`]
      }
      const start = (call: ToolCall, rest?: Promise<ToolCall>) => {
        void run.callTool(call, { ceiling: ceilingOf(call.name), ...(rest && { rest }) }).then(
          (message) => journal.misled.push(...otherThan(call, message)),
          () => undefined,
        )
        // The wrap waits until the call counts, and must hear it if it does not.
        run.stood(call.id).then(
          () => isDiscarded(call) && journal.misled.push(`${wordOf(call)} counts, and is discarded`),
          () => undefined,
        )
      }
      try {
        const flow = next(request)
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
          const event = step.value
          if (event.type === 'tool-input-start' && event.name === 'W') run.warm(event.id, event.name)
          if (event.type === 'tool-input-ready') {
            const { id, name, input } = event
            const rest = new Promise<ToolCall>((comes, fails) => void rests.set(id, { comes, fails }))
            rest.catch(() => undefined)
            start({ type: 'tool-call', id, name, input }, rest)
          }
          if (event.type === 'tool-call' && isEarly(event.call)) {
            const rest = rests.get(event.call.id)
            if (rest) rest.comes(event.call)
            else start(event.call)
            reached(`${wordOf(event.call)} is requested early`)
          }
          yield event
        }
      } finally {
        for (const rest of rests.values()) rest.fails(new Error('the stream has ended'))
      }
    },
  }
}

/** The request does not offer o. */
const withholding: Middleware = {
  name: 'withholds',
  wrapModel: (request, next) => next({ ...request, tools: request.tools.filter(({ name }) => name !== 'o') }),
}

type ModelFlowEvent = ModelFlow extends Flow<infer Event, unknown> ? Event : never

/** Passes the events of calls on later, or with other inputs. */
function hiding({ gates }: Place, how: 'late' | 'other'): Middleware {
  return {
    name: 'hides',
    async *wrapModel(request, next) {
      const flow = next(request)
      const held = new Map<string, ModelFlowEvent[]>()
      const shows = new Map<string, Promise<string>>()
      let coming = flow.next()
      for (;;) {
        const shown = await Promise.race([coming.then(() => undefined), ...shows.values()])
        if (shown !== undefined) {
          shows.delete(shown)
          yield* held.get(shown) ?? []
          continue
        }
        const step = await coming
        if (step.done) return step.value
        coming = flow.next()
        const { value } = step
        const id = 'call' in value ? value.call.id : 'id' in value ? value.id : undefined
        if (id === undefined) yield value
        else held.set(id, [...(held.get(id) ?? []), how === 'other' ? changed(value) : value])
        if ('call' in value)
          shows.set(
            value.call.id,
            gates.pass(`shows ${wordOf(value.call)}`).then(() => value.call.id),
          )
      }
    },
  }
}

function changed<Event extends object>(event: Event): Event {
  return 'call' in event ? { ...event, call: { ...(event.call as ToolCall), input: { n: 'other' } } } : event
}

/** A wrap around every call: what follows when its first execution has thrown, or two executions. */
function wrapOf({ on, gates }: Place, wrap: Scenario['wrap']): Middleware {
  const { Interrupt, RunStop, interrupt } = on.core
  return {
    name: 'wraps',
    async *wrapToolCall(call, next, run) {
      if (wrap === 'both') {
        const both = await Promise.all(['a', 'b'].map((more) => outcomeOf(next(withInput(call, more)))))
        if (run.answers.length === 0) throw interrupt('both?')
        return messageOf(call, both.map(textOf).join(', '))
      }
      if (wrap === 'leaves') {
        const left = next(call)
        await Promise.race([left.next(), gates.pass('the wrap')])
        void left.return(messageOf(call, 'left'))
      }
      try {
        return yield* next(call)
      } catch (error) {
        if (wrap === 'retry' && !(error instanceof RunStop)) return yield* next(call)
        if (wrap === 'catch' && error instanceof Interrupt) return yield* next(withInput(call, 'b'))
        if (wrap === 'own' && error instanceof RunStop) return messageOf(call, 'its own answer')
        throw error
      }
    },
  }
}

function edited(message: Message | undefined): Message {
  if (message?.role !== 'assistant') throw new TypeError('the last message is the response')
  return {
    ...message,
    content: message.content.map((part) => (part.type === 'tool-call' ? withInput(part, 'a') : part)),
  }
}

function withInput(call: ToolCall, more: string): ToolCall {
  return { ...call, input: { n: `${inputOf(wordOf(call))}${more}` } }
}

function messageOf({ id: callId, name }: ToolCall, text: string): ToolMessage {
  return { role: 'tool', callId, name, content: [{ type: 'text', text }] }
}

async function outcomeOf(flow: ToolFlow): Promise<ToolMessage> {
  for (;;) {
    const step = await flow.next()
    if (step.done) return step.value
  }
}
