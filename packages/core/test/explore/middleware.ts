/** The hooks and wraps of a world. */

import { textMessage } from '../../src/execution/result-message.ts'
import { drive, map, settle } from '../../src/flow/flow.ts'
import { Funnel } from '../../src/flow/funnel.ts'
import { pull } from '../../src/flow/pull.ts'
import { type Coming, coming } from '../../src/flow/unheard.ts'
import type { AssistantMessage, Flow, Middleware, ModelFlow, Run, ToolCall } from '../../src/index.ts'
import { textOf } from '../../src/vocabulary/message.ts'
import { answer, toolCall } from '../messages.ts'
import { wordOf } from './model.ts'
import { ofType, type Place } from './place.ts'
import { atEndOf, ceilingOf, inputOf, letterOf, wordsOf } from './scenario.ts'

/** What a hook of the gate makes of each answer. */
export const EDITED = 'An edited answer'

/** By name. The first is the outermost. */
export function middlewareOf(place: Place): readonly Middleware[] {
  const { through, again, setup, hook, gate, hides, eager, wrap, steps } = place.scenario
  const hasHidden = wordsOf(steps).some((word) => letterOf(word) === 'o')
  const all: Readonly<Record<string, Omit<Middleware, 'name'> | false | undefined>> = {
    through: through && passesThrough,
    again: again > 0 && { wrapAgent: againOf(place) },
    setup: setup && { beforeAgent: (_, { answers }) => ask(place, 'the setup', answers) },
    hook: hook && { afterModel: hook === 'hook edits' ? edit : hooking(place) },
    a: gate && { beforeFinalAnswer: judging(place, 'a') },
    b: gate && { beforeFinalAnswer: judging(place, 'b') },
    retry: { wrapModel: retrying(place) },
    hides: hides && { wrapModel: hiding(place) },
    early: eager && { wrapModel: early(place) },
    withholds: hasHidden && { wrapModel: withholding },
    wraps: wrap && { wrapToolCall: wrapping(place) },
  }
  return Object.entries(all).flatMap(([name, own]) => (own ? [{ name, ...own }] : []))
}

type Hook<Name extends keyof Middleware> = NonNullable<Middleware[Name]>

/** Each event and the result of the steps, unchanged. */
export const passesThrough: Middleware = {
  name: 'through',
  async *wrapAgent(setup, next) {
    return yield* next(setup)
  },
}

/** When the steps have ended it may call `next` again; while they are running, that throws. */
function againOf({ gates, left, journal }: Place): Hook<'wrapAgent'> {
  return async function* (setup, next, run) {
    let isOut = false
    const tooEarly = async () => {
      await gates.pass('next', () => (left.again > 0 && !isOut && run.step > 0 ? ['is called early'] : []))
      left.again--
      await next(setup).next()
      journal.hooked.push('two loops')
    }
    tooEarly().catch(() => undefined)
    const first = yield* next(setup)
    isOut = true
    const how = await gates.pass('the wrap', () => (left.again > 0 ? ['returns', 'goes again'] : ['returns']))
    if (how === 'returns') return first
    left.again--
    return yield* next(setup)
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

/** A hook after each response. One that is stopped throws the reason. */
function hooking(place: Place): Hook<'afterModel'> {
  return async (_, { signal, answers, step }) => {
    place.reached('the hook is called')
    const how = await place.gates.pass('the hook', () => (signal.aborted ? ['stops'] : ['is done']))
    if (how === 'stops') throw signal.reason
    place.amid = { ...place.amid, hookAsked: answers.length === 0 }
    ask(place, `the hook in step ${step}`, answers)
  }
}

/** Changes the inputs of the calls of each response. */
const edit: Hook<'afterModel'> = ({ messages }) => {
  const response = messages.at(-1) as AssistantMessage
  const content = response.content.map((part) => (part.type === 'tool-call' ? withInput(part, 'a') : part))
  return { messages: messages.with(-1, { ...response, content }) }
}

/** A hook that judges answers. */
function judging(place: Place, name: 'a' | 'b'): Hook<'beforeFinalAnswer'> {
  const { gates, left, journal, scenario, on, reached } = place
  return async ({ messages }, { signal, answers }) => {
    const text = messages.slice(-1).map(textOf).join('')
    reached(`the hook ${name} is called`)
    const may = () => (signal.aborted ? ['stops'] : left.rejects > 0 ? ['accepts', 'rejects'] : ['accepts'])
    const how = await gates.pass(`the hook ${name}`, may)
    if (how === 'stops') throw signal.reason
    if (name === 'b' && scenario.gate !== 'gate' && answers.length === 0) throw on.core.interrupt('judge?')
    journal.hooked.push(`${name} ${text}`)
    const isEdited = scenario.gate === 'gate edits' && name === 'a'
    if (how === 'accepts') return isEdited ? { accept: true, message: answer(EDITED) } : undefined
    left.rejects--
    journal.rejected.push(text)
    return { accept: false, feedback: 'Again' }
  }
}

function retrying({ on, reached }: Place): Hook<'wrapModel'> {
  return async function* (request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        reached('a wrap has the error of the model')
        if (!(error instanceof on.core.ModelError)) throw error
      }
    }
  }
}

/** Starts calls as soon as the model has streamed them, or the part that they need. */
function early(place: Place): Hook<'wrapModel'> {
  const isEarly = ({ name }: ToolCall) =>
    !atEndOf(name) && (place.scenario.eager === 'bold' || ceilingOf(name) !== 'external')
  return async function* (request, next, run) {
    /** The inputs of which a part has come. */
    const rests = new Map<string, Coming<ToolCall>>()
    const take = (event: ModelFlowEvent) => {
      if (event.type === 'tool-input-start' && event.name === 'W') run.warm(event.id, event.name)
      if (event.type === 'tool-input-ready') {
        const rest = coming<ToolCall>()
        rests.set(event.id, rest)
        start(place, run, toolCall(event.id, event.name, event.input), rest.promise)
      }
      if (event.type === 'tool-call' && isEarly(event.call)) {
        const rest = rests.get(event.call.id)
        if (rest) rest.resolve(event.call)
        else start(place, run, event.call)
        place.reached(`${wordOf(event.call)} is requested early`)
      }
      return event
    }
    try {
      return yield* map(next(request), take)
    } finally {
      for (const rest of rests.values()) rest.reject(new Error('the stream has ended'))
    }
  }
}

/** Asks for a call, and notes if it hears the result of another call, or that a discarded call counts. */
function start({ journal, events }: Place, run: Run, call: ToolCall, rest?: Promise<ToolCall>): void {
  const isDiscarded = () =>
    ofType(events, 'tool-discarded').some(({ callId, cause }) => callId === call.id && cause !== 'run_aborted')
  const called = run.callTool(call, { ceiling: ceilingOf(call.name), ...(rest && { rest }) }).then((message) => {
    const isOwn = message.isError || textOf(message).includes(wordOf(call))
    if (!isOwn || isDiscarded()) journal.misled.push(`${wordOf(call)}: ${textOf(message)}`)
  })
  const stood = run.stood(call.id).then(() => {
    if (isDiscarded()) journal.misled.push(`${wordOf(call)} counts, and is discarded`)
  })
  void Promise.allSettled([called, stood])
}

/** The request does not offer o. */
const withholding: Hook<'wrapModel'> = (request, next) =>
  next({ ...request, tools: request.tools.filter(({ name }) => name !== 'o') })

type ModelFlowEvent = ModelFlow extends Flow<infer Event, unknown> ? Event : never

/** Passes the events of calls on later, or with other inputs. The model goes on meanwhile. */
function hiding({ gates, scenario }: Place): Hook<'wrapModel'> {
  return (request, next) => {
    const funnel = new Funnel<ModelFlowEvent>(() => undefined)
    /** The first events of the call that the model is streaming. */
    const held: ModelFlowEvent[] = []
    const take = (event: ModelFlowEvent) => {
      if (event.type === 'tool-call') {
        const { call } = event
        const told = scenario.hides === 'shown late' ? event : { ...event, call: withInput(call, 'b') }
        const own = [...held.splice(0), told]
        void gates.pass(`shows ${wordOf(call)}`).then(() => {
          for (const one of own) funnel.push(one)
        })
      } else if ('id' in event) held.push(event)
      else funnel.push(event)
    }
    return pull(
      funnel,
      () => drive(next(request), take),
      () => undefined,
    )
  }
}

/** Around every call: what follows when its first execution has thrown, or two executions. */
function wrapping({ on, gates, scenario: { wrap } }: Place): Hook<'wrapToolCall'> {
  const { Interrupt, RunStop, interrupt } = on.core
  return async function* (call, next, run) {
    if (wrap === 'wrap both') {
      const both = await Promise.all(['a', 'b'].map((more) => settle(next(withInput(call, more)))))
      if (run.answers.length === 0) throw interrupt('both?')
      return textMessage(call, both.map(textOf).join(', '), false)
    }
    if (wrap === 'wrap leaves') {
      const left = next(call)
      await Promise.race([left.next(), gates.pass('the wrap')])
      void left.return(textMessage(call, 'left', false))
    }
    try {
      return yield* next(call)
    } catch (error) {
      if (wrap === 'wrap retry' && !(error instanceof RunStop)) return yield* next(call)
      if (wrap === 'wrap catch' && error instanceof Interrupt) return yield* next(withInput(call, 'b'))
      if (wrap === 'wrap own' && error instanceof RunStop) return textMessage(call, 'its own answer', false)
      throw error
    }
  }
}

const withInput = (call: ToolCall, more: string): ToolCall => ({ ...call, input: { n: inputOf(wordOf(call)) + more } })
