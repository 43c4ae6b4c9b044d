/** Defines a model that plays a script. */

import { checkOptions, type Model, type ModelErrorData, type ModelRequest } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { assemble } from '../assemble.ts'
import type { Assembler } from '../assembler.ts'
import { AT_ONCE, type Beat, beats, type Pace } from './beats.ts'
import { ScriptError, type ScriptResponse } from './script.ts'

/** A response, or a function that makes one from the request. */
export type ScriptedResponse = ScriptResponse | ((request: ModelRequest) => ScriptResponse)

/** The options of `scriptedModel`. */
export interface ScriptedModelOptions {
  /** How fast the model streams. Default: without delay. */
  readonly pace?: Pace
  /** The provider in spans and events. Default `scripted`. */
  readonly provider?: string
  /** The name of the model. Default `scripted-1`. */
  readonly id?: string
  /** Whether the model has structured output. If not, it returns output by a call of `final_answer`. Default `false`. */
  readonly structuredOutput?: boolean
}

export interface ScriptedModel extends Model {
  /** The requests so far, in the order in which their flows were first read. */
  readonly requests: readonly ModelRequest[]
  /** Returns only the name, because each request contains the model itself. */
  toJSON(): { readonly provider: string; readonly id: string }
  /** @throws {ScriptError} A response of the script was not used. */
  assertComplete(): void
}

/**
 * Returns a model that answers each request with the next response of the script, when the flow of the request is first read. If there is no response
 * left, it throws a {@link ScriptError}. It uses real timers, or the fake timers of your test runner.
 *
 * @throws {ScriptError} The argument is not a list of responses.
 */
export function scriptedModel(
  responses: readonly ScriptedResponse[],
  options: ScriptedModelOptions = {},
): ScriptedModel {
  checkScript(responses)
  checkOptions('scriptedModel', options, { pace: '', provider: '', id: '', structuredOutput: '' })
  const { pace = AT_ONCE, provider = 'scripted', id = 'scripted-1', structuredOutput = false } = options
  const requests: ModelRequest[] = []
  return {
    provider,
    id,
    inProcess: true,
    structuredOutput: () => structuredOutput,
    requests,
    toJSON: () => ({ provider, id }),
    stream(request) {
      const schedule = () => {
        const response = responses[requests.length]
        const number = requests.push(request)
        if (!response)
          throw new ScriptError(`request ${number} of ${id}, but the script has ${count(responses.length)}`)
        const script = typeof response === 'function' ? response(request) : response
        return beats(script, pace, `call_${number}`)
      }
      return assemble(request, play(schedule, request.signal), readBeat, explainFailure)
    },
    assertComplete() {
      if (requests.length < responses.length) {
        throw new ScriptError(
          `the script of ${id} has ${count(responses.length)}, but only ${requests.length} were asked for`,
        )
      }
    },
  }
}

/** For callers without types: a single step, or the argument of `mockModels`, would otherwise only fail at a request, with an unclear error. */
function checkScript(responses: readonly ScriptedResponse[]): void {
  if (!Array.isArray(responses))
    throw new ScriptError(
      'a script is a list of responses, or of functions that return one: scriptedModel([respond(…), (request) => respond(…)])',
    )
  const wrong = responses.findIndex((one: unknown) => typeof one !== 'function' && !(isRecord(one) && 'steps' in one))
  if (wrong >= 0) throw new ScriptError(`response ${wrong + 1} of the script was not made by respond(…)`)
}

function count(responses: number): string {
  return responses === 1 ? '1 response' : `${responses} responses`
}

async function* play(schedule: () => readonly Beat[], signal: AbortSignal): AsyncGenerator<Beat> {
  const start = performance.now()
  for (const beat of schedule()) {
    signal.throwIfAborted()
    const ms = start + beat.at - performance.now()
    if (ms > 0) await pause(ms, signal)
    if (beat.type === 'fail') throw new ScriptedFailure(beat)
    yield beat
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal.addEventListener('abort', abort, { once: true })
  })
}

function readBeat(beat: Beat, to: Assembler): void {
  switch (beat.type) {
    case 'text':
      to.text(beat.delta)
      break
    case 'reasoning':
      to.reasoning(beat.delta)
      break
    case 'call-start':
    case 'call-delta':
      to.call(beat.index, beat)
      break
    case 'call-end':
      to.seal(beat.index)
      break
    case 'end':
      to.usage(beat.usage)
      to.finish(beat.finishReason)
  }
}

class ScriptedFailure extends Error {
  readonly beat: Extract<Beat, { readonly type: 'fail' }>

  constructor(beat: Extract<Beat, { readonly type: 'fail' }>) {
    super(beat.message)
    this.beat = beat
  }
}

function explainFailure(thrown: unknown): (ModelErrorData & { readonly message: string }) | undefined {
  if (!(thrown instanceof ScriptedFailure)) return undefined
  const { type: _, at: __, ...data } = thrown.beat
  return { ...data, retryable: [408, 409, 429].includes(data.status) || data.status >= 500 }
}
