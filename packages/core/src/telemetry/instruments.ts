/** Makes the instruments for measurements, once for each meter provider. */

import { type Attributes, createNoopMeter, type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import { COPY } from '../vocabulary/brand.ts'
import type { Usage } from '../vocabulary/message.ts'
import { present } from '../vocabulary/present.ts'
import type { TelemetryOptions } from '../vocabulary/telemetry-options.ts'
import type { SemanticAttributes } from './semconv.ts'
import * as names from './semconv.ts'
import { untroubled } from './untroubled.ts'

/** Records a value, if there is one, with the attributes that are defined. */
type Instrument = (value: number | undefined, attributes: SemanticAttributes) => void

export interface Instruments {
  readonly attempt: Instrument
  readonly first: Instrument
  readonly tokens: readonly (readonly [keyof Usage, Instrument])[]
  readonly execution: Instrument
  readonly lags: Instrument
  readonly headStarts: Instrument
  readonly calls: Instrument
  readonly run: Instrument
  readonly runAttempts: Instrument
  readonly runCalls: Instrument
}

const known = new WeakMap<MeterProvider, Instruments>()

/** `undefined` without an SDK. Called when a run begins, so an SDK that is registered later serves the next run. */
export function instrumentsOf(options: Pick<TelemetryOptions, 'meterProvider'> = {}): Instruments | undefined {
  return untroubled(() => {
    const provider = options.meterProvider ?? metrics.getMeterProvider()
    const made = known.get(provider)
    if (made) return made
    const meter = provider.getMeter(names.SCOPE, COPY.version)
    // An instrument that is made before the SDK has started would do nothing forever.
    if (meter === createNoopMeter()) return undefined
    const instruments = makeInstruments(meter)
    known.set(provider, instruments)
    return instruments
  })
}

function makeInstruments(meter: Meter): Instruments {
  const histogram = (name: string, explicitBucketBoundaries: number[], unit = 's') => {
    const made = meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } })
    return instrument((value, attributes) => made.record(value, attributes))
  }
  const counter = (name: string, unit: string) => {
    const made = meter.createCounter(name, { unit })
    return instrument((value, attributes) => made.add(value, attributes))
  }
  const tokens = (figure: keyof Usage, name: string) => [figure, counter(name, '{token}')] as const
  const duration = doubling(0.01, 14)
  const number = doubling(1, 8)
  return {
    attempt: histogram(names.INFERENCE_DURATION, duration),
    first: histogram(names.INFERENCE_FIRST_CHUNK, duration),
    tokens: [
      tokens('inputTokens', names.INFERENCE_INPUT_TOKENS),
      tokens('outputTokens', names.INFERENCE_OUTPUT_TOKENS),
      tokens('cacheReadTokens', names.INFERENCE_CACHE_READ_TOKENS),
      tokens('cacheWriteTokens', names.INFERENCE_CACHE_WRITE_TOKENS),
      tokens('reasoningTokens', names.INFERENCE_REASONING_TOKENS),
    ],
    execution: histogram(names.EXECUTE_TOOL_DURATION, duration),
    lags: histogram(names.DISPATCH_LAGS, doubling(0.0001, 15)),
    headStarts: histogram(names.HEAD_STARTS, duration),
    calls: counter(names.TOOL_CALLS, '{tool_call}'),
    run: histogram(names.INVOKE_AGENT_DURATION, doubling(0.1, 13)),
    runAttempts: histogram(names.INVOKE_AGENT_INFERENCE_CALLS, number, '{inference_call}'),
    runCalls: histogram(names.INVOKE_AGENT_TOOL_CALLS, number, '{tool_call}'),
  }
}

function instrument(write: (value: number, attributes: Attributes) => void): Instrument {
  return (value, attributes) => {
    if (value !== undefined) untroubled(() => write(value, present(attributes)))
  }
}

/** The buckets of the conventions. */
function doubling(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first * 2 ** index)
}
