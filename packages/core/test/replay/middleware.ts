/** The hooks and wraps of a world. */

import type { Flow, Middleware, ModelFlow, Run, ToolCall, ToolFlow, ToolMessage } from '../../src/index.ts'
import { textOf, wordOf } from './model.ts'
import type { Place } from './place.ts'
import { AT_END, EFFECTS, inputOf, type Letter, letterOf } from './scenario.ts'

/** The first is the outermost. */
export function middlewareOf(place: Place): readonly Middleware[] {
  const { scenario } = place
  const { through, again, hookAsks, gate, hides, eager, wrap } = scenario
  const isUnoffered = scenario.steps.flat().some(({ calls }) => calls.some((word) => letterOf(word) === 'o'))
  return [
    ...(through ? [passesThrough] : []),
    ...(again ? [againOf(place)] : []),
    ...(hookAsks ? [asking(place)] : []),
    ...(gate ? [judging(place, 'a'), judging(place, 'b')] : []),
    retryModel(place),
    ...(hides ? [hiding(place, hides)] : []),
    ...(eager ? [early(place)] : []),
    ...(isUnoffered ? [withholding] : []),
    ...(wrap ? [WRAPS[wrap](place)] : []),
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

function asking(place: Place): Middleware {
  return {
    name: 'asks',
    async afterModel(_, run) {
      await passed(place, 'the hook', run)
      if (run.answers.length > 0) return
      place.hookAsked = true
      throw place.on.core.interrupt('hook?')
    },
  }
}

/** A hook that judges answers. */
function judging(place: Place, name: 'a' | 'b'): Middleware {
  const { gates, left, journal, scenario, on } = place
  return {
    name,
    async beforeFinalAnswer({ messages }, run) {
      const text = textOf(messages.at(-1) ?? { role: 'user', content: '' })
      const may = () => (left.rejects > 0 ? ['accepts', 'rejects'] : ['accepts'])
      place.reached(`the hook ${name} is called`)
      const how = await gates.pass(`the hook ${name}`, () => (run.signal.aborted ? ['stops'] : may()))
      if (how === 'stops') throw run.signal.reason
      if (name === 'b' && scenario.gate === 'asks' && run.answers.length === 0) throw on.core.interrupt('judge?')
      journal.hooked.push(`${name} ${text}`)
      if (how === 'accepts') return
      left.rejects--
      journal.rejected.push(text)
      return { accept: false, feedback: 'Again' }
    },
  }
}

/** A hook that is stopped throws the reason. */
async function passed({ gates, reached }: Place, name: string, { signal }: Pick<Run, 'signal'>): Promise<void> {
  reached(`${name} is called`)
  const how = await gates.pass(name, () => (signal.aborted ? ['stops'] : ['is done']))
  if (how === 'stops') throw signal.reason
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

/** The rest of an input. */
class Rest {
  comes: (call: ToolCall) => void = () => undefined
  fails: (error: Error) => void = () => undefined
  readonly promise: Promise<ToolCall> = new Promise((resolve, reject) => {
    this.comes = resolve
    this.fails = reject
  })
}

/** Starts calls as soon as the model has streamed them, or the part that they need. */
function early({ scenario, reached, journal }: Place): Middleware {
  const isEarly = ({ name }: Pick<ToolCall, 'name'>) =>
    !AT_END[name as Letter] && (scenario.eager === 'bold' || EFFECTS[name as Letter] !== 'external')
  return {
    name: 'early',
    async *wrapModel(request, next, run) {
      const rests = new Map<string, Rest>()
      const otherThan = (call: ToolCall, message: ToolMessage) => {
        const isDiscarded = journal.now.events.some(
          (event) => event.type === 'tool-discarded' && event.callId === call.id && event.cause !== 'run_aborted',
        )
        const isOwn = message.isError || textOf(message).includes(wordOf(call))
        return isOwn && !isDiscarded ? [] : [`${wordOf(call)}: ${textOf(message)}`]
      }
      const start = (call: ToolCall, rest?: Promise<ToolCall>) =>
        void run.callTool(call, { ceiling: EFFECTS[call.name as Letter], ...(rest && { rest }) }).then(
          (message) => journal.misled.push(...otherThan(call, message)),
          () => undefined,
        )
      try {
        const flow = next(request)
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
          const event = step.value
          if (event.type === 'tool-input-start' && event.name === 'W') run.warm(event.id, event.name)
          if (event.type === 'tool-input-ready') {
            const rest = new Rest()
            rest.promise.catch(() => undefined)
            rests.set(event.id, rest)
            start({ type: 'tool-call', id: event.id, name: event.name, input: event.input }, rest.promise)
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

const WRAPS: Readonly<Record<'retry' | 'catch' | 'both' | 'own', (place: Place) => Middleware>> = {
  retry: ({ on }) => ({
    name: 'retries',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        if (error instanceof on.core.RunStop) throw error
        return yield* next(call)
      }
    },
  }),
  catch: ({ on }) => ({
    name: 'catches',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        if (!(error instanceof on.core.Interrupt)) throw error
        return yield* next(withInput(call, 'b'))
      }
    },
  }),
  own: ({ on }) => ({
    name: 'own',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        if (!(error instanceof on.core.RunStop)) throw error
        return messageOf(call, 'its own answer')
      }
    },
  }),
  both: ({ on }) => ({
    name: 'both',
    async *wrapToolCall(call, next, run) {
      const both = await Promise.all(['a', 'b'].map((more) => outcomeOf(next(withInput(call, more)))))
      if (run.answers.length === 0) throw on.core.interrupt('both?')
      return messageOf(call, both.map(textOf).join(', '))
    },
  }),
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
