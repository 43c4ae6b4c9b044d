import { DEFAULT_INPUT_LIMITS, ModelError, settle } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { type Chunk, called, ended, piece, said, sealed, stream, typesOf, used } from '../test/streamed-chunks.ts'
import { assemble, type Explain } from './assemble.ts'

test('without a terminal event nothing more is sealed, and what arrived is partial (G11, qT6, qA7)', async () => {
  const { events, error } = await stream([
    said('so'),
    piece(0, { id: 'a', name: 'f', delta: '{"x":1}' }),
    sealed(0),
    piece(1, { id: 'b', name: 'g', delta: '{"y":2}' }),
    piece(2, { id: 'c', name: 'h', delta: '{"z":' }),
    used({ outputTokens: 5 }),
  ])
  expect(events.filter((event) => event.type === 'tool-call')).toMatchObject([{ call: { id: 'a' } }])
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ code: 'stream_truncated', retryable: true })
  expect(error instanceof ModelError && error.partial).toEqual({
    role: 'assistant',
    content: [
      { type: 'text', text: 'so' },
      { type: 'tool-call', id: 'a', name: 'f', input: { x: 1 } },
      { type: 'tool-call', id: 'b', name: 'g', input: { y: 2 } },
      { type: 'tool-call', id: 'c', name: 'h', input: '{"z":', inputError: expect.any(String) },
    ],
    finishReason: 'error',
    usage: { outputTokens: 5 },
  })
})

test('a response that ends with an error fails when its chunks end, and none of its open calls is sealed (G4, G11)', async () => {
  const broken = { code: 'invalid_chunk', message: 'arguments without a call' }
  const call = piece(0, { id: 'a', name: 'f', delta: '{"x":1}' })
  const ends: Chunk = (to) => to.finish(broken)
  const { events, error } = await stream([call, ends])
  expect(typesOf(events)).not.toContain('tool-call')
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ ...broken, retryable: true, partial: { content: [{ name: 'f' }] } })
  expect((await stream([ends, call, ended('tool-calls')])).message).toMatchObject({ finishReason: 'tool-calls' })
})

test('the finish reason error is a model error (A19)', async () => {
  const { events, error } = await stream([said('so'), ...called('{"x":1}'), ended('error')])
  expect(typesOf(events)).not.toContain('tool-call')
  expect(error).toMatchObject({
    name: 'ModelError',
    code: 'finish_reason_error',
    retryable: true,
    partial: { content: [{ text: 'so' }, { input: { x: 1 } }], finishReason: 'error' },
  })
})

test('a thrown error is explained, after the events of its chunk (A19, qT8)', async () => {
  const cause = new Error('502')
  const failing: Chunk = (to) => {
    to.text('so')
    throw cause
  }
  const explain: Explain = () => ({
    message: 'bad gateway',
    code: 'bad_gateway',
    status: 502,
    retryable: true,
    retryAfter: 9,
  })
  const { events, error } = await stream([failing, ended('stop')], { explain })
  expect(events).toEqual([{ type: 'text-delta', delta: 'so' }])
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({
    message: 'bad gateway',
    code: 'bad_gateway',
    status: 502,
    retryable: true,
    retryAfter: 9,
    partial: { content: [{ type: 'text', text: 'so' }], finishReason: 'error' },
  })
  expect(error).toHaveProperty('cause', cause)
})

test('an error without an explanation is thrown unchanged (A19)', async () => {
  const thrown = new Error('a bug')
  const failing: Chunk = () => {
    throw thrown
  }
  expect((await stream([failing])).error).toBe(thrown)
  expect((await stream([failing], { explain: () => undefined })).error).toBe(thrown)
})

test('chunks are read when events are, and closed when the reader leaves or reading fails', async () => {
  const log: string[] = []
  async function* source(): AsyncGenerator<Chunk> {
    try {
      for (const delta of ['a', 'b']) {
        log.push(delta)
        yield said(delta)
      }
      yield () => {
        throw new Error('unreadable')
      }
    } finally {
      log.push('closed')
    }
  }
  const request = { takenIds: new Set<string>(), inputLimits: DEFAULT_INPUT_LIMITS }
  const left = assemble(request, source(), (chunk, to) => chunk(to))
  expect(log).toEqual([])
  for await (const event of left) {
    expect(event).toEqual({ type: 'text-delta', delta: 'a' })
    break
  }
  expect(log.splice(0)).toEqual(['a', 'closed'])

  const failed = assemble(request, source(), (chunk, to) => chunk(to))
  await expect(settle(failed)).rejects.toThrow('unreadable')
  expect(log).toEqual(['a', 'b', 'closed'])
})
