import { expect, test } from 'vitest'
import { endings } from '../test/endings.ts'
import { listen } from '../test/listen.ts'
import { bodyFor } from '../test/requests.ts'
import { transports } from '../test/transports.ts'
import { mockModels } from './msw.ts'
import { rawResponse } from './raw.ts'

const everywhere = transports.flatMap((transport) =>
  endings.map((ending) => ({ ...ending, transport, over: transport.name })),
)

test.for(everywhere)('over $over: $title', async ({ over, transport, reply, heard, setupServer = heard }) => {
  const stage = await transport.serve({ script: [reply] })
  const { error, ...rest } = await listen(stage, 'anthropic')
  const expected = over === 'setupServer' ? setupServer : heard
  // The code of undici's HTTPParserError does not exist on every Node.
  const cause = error?.cause?.replace(' (HPE_INVALID_CHUNK_SIZE)', '')
  expect({ ...rest, ...(error && { error: { ...error, ...(cause !== undefined && { cause }) } }) }).toEqual(expected)
  await stage.assertComplete()
})

const stalls = transports.flatMap((transport) => [
  { transport, over: transport.name, what: 'silence', comments: {}, hears: 'data: 1\n\n' },
  {
    transport,
    over: transport.name,
    what: 'only comments',
    comments: { comments: 5 },
    hears: 'data: 1\n\n: still here\n\n: still here\n\n',
  },
])

test.for(stalls)(
  'over $over: a stall is $what, until the client disconnects',
  async ({ transport, comments, hears }) => {
    const raw = rawResponse([{ bytes: 'data: 1\n\n' }, { end: 'stall', ...comments }])
    const stage = await transport.serve({ script: [raw] })
    expect(await listen(stage, 'anthropic', { leaveAfter: hears.length })).toMatchObject({ status: 200, body: hears })
    const [response] = await stage.log()
    await expect.poll(() => response?.aborted).toBe(true)
    expect(response).not.toHaveProperty('end')
  },
)

test.for(transports)('over $name: a stall before the headers is a fetch that waits', async (transport) => {
  const stage = await transport.serve({ script: [rawResponse([{ end: 'stall' }])] })
  const { fetch: ask = fetch, url = 'http://models.test' } = stage
  const left = new AbortController()
  const asked = ask(`${url}/v1/messages`, { method: 'POST', body: bodyFor('anthropic'), signal: left.signal })
  const failure = asked.catch((error: unknown) => error)
  await expect.poll(() => stage.log()).toHaveLength(1)
  const enough = new Error('enough')
  left.abort(enough)
  expect(await failure).toBe(enough)
  const [response] = await stage.log()
  await expect.poll(() => response?.aborted).toBe(true)
})

test('over the fetch of a mock, a slow reader gets everything that was sent before the break', async () => {
  for (const end of ['fin', 'reset', 'bad-chunk'] as const) {
    const raw = rawResponse([{ bytes: 'data: 1\n\n' }, { bytes: 'data: 2\n\n' }, { end }])
    const { fetch: ask } = mockModels({ script: [raw] })
    const { body } = await ask('http://models.test/v1/messages', { method: 'POST', body: bodyFor('anthropic') })
    await new Promise((resolve) => setTimeout(resolve))
    const heard: string[] = []
    const read = async () => {
      for await (const bytes of body ?? []) heard.push(new TextDecoder().decode(bytes))
    }
    await expect(read()).rejects.toThrow('terminated')
    expect(heard).toEqual(['data: 1\n\n', 'data: 2\n\n'])
  }
})
