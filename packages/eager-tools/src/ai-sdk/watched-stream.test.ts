import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, Host } from '../../test/host.ts'
import type { StreamPart } from './sdk.ts'
import { watchedStream } from './watched-stream.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Writer = WritableStreamDefaultWriter<StreamPart>

const call: StreamPart = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{"n":1}' }
const other: StreamPart = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{"n":2}' }
const finish: StreamPart = { type: 'finish', finishReason: 'length' }

/** What may still arrive of a response after the host has requested another one in its place. */
const late: Readonly<Record<string, (to: Writer) => Promise<void>>> = {
  'its end': (to) => to.close(),
  'its error': (to) => to.abort(new Error('socket hang up')),
  'its finish part': (to) => to.write(finish),
  'another call': (to) => to.write(other),
}

test.for(Object.entries(late))(
  'what arrives late of a response that was retried does not concern the next one: %s (R4)',
  async ([, arrives]) => {
    const host = new Host()
    const calls = host.step()
    const { reader, to } = watched(calls)
    const read = reader.read().catch(() => undefined)
    calls.failed()
    calls.again()
    await Promise.all([arrives(to), read])
    const next = watched(calls)
    await Promise.all([next.to.write(call), next.reader.read()])
    await after(0)
    expect([calls.stage, host.log]).toEqual(['streaming', ['0 look 1']])
    await calls.release()
  },
)

function watched(calls: Parameters<typeof watchedStream>[1]) {
  const { readable, writable } = new TransformStream<StreamPart, StreamPart>()
  return {
    to: writable.getWriter(),
    reader: watchedStream(readable, calls, { seals: true, mayRepeat: false, stands: () => undefined }).getReader(),
  }
}
