import { expect, test } from 'vitest'
import { endings } from '../test/endings.ts'
import { listen } from '../test/listen.ts'
import { transports } from '../test/transports.ts'
import { rawResponse } from './raw.ts'

const everywhere = transports.flatMap((transport) =>
  endings.map((ending) => ({ ...ending, transport, over: transport.name })),
)

test.for(everywhere)('over $over: $title', async ({ over, transport, reply, heard, setupServer = heard }) => {
  const stage = await transport.serve({ script: [reply] })
  const { error, ...rest } = await listen(stage, 'anthropic')
  const expected = over === 'setupServer' ? setupServer : heard
  // The code of undici's HTTPParserError is not on every Node.
  const cause = error?.cause?.replace(' (HPE_INVALID_CHUNK_SIZE)', '')
  expect({ ...rest, ...(error && { error: { ...error, ...(cause !== undefined && { cause }) } }) }).toEqual(expected)
  await stage.assertComplete()
})

const stalls = transports.flatMap((transport) => [
  { transport, over: transport.name, what: 'silence', comments: {}, hears: 'data: 1\n\n' },
  {
    transport,
    over: transport.name,
    what: 'comments alone',
    comments: { comments: 5 },
    hears: 'data: 1\n\n: still here\n\n: still here\n\n',
  },
])

test.for(stalls)('over $over: a stall is $what, until the client leaves', async ({ transport, comments, hears }) => {
  const raw = rawResponse([{ bytes: 'data: 1\n\n' }, { end: 'stall', ...comments }])
  const stage = await transport.serve({ script: [raw] })
  expect(await listen(stage, 'anthropic', { leaveAfter: hears.length })).toMatchObject({ status: 200, body: hears })
  const [response] = await stage.log()
  await expect.poll(() => response?.aborted).toBe(true)
  expect(response).not.toHaveProperty('end')
})

test.for(transports)('over $name: a stall before the headers is a fetch that waits', async (transport) => {
  const stage = await transport.serve({ script: [rawResponse([{ end: 'stall' }])] })
  const { fetch: ask = fetch, url = 'http://models.test' } = stage
  const signal = AbortSignal.timeout(20)
  await expect(ask(`${url}/v1/messages`, { method: 'POST', body: '{}', signal })).rejects.toThrow('timeout')
  const [response] = await stage.log()
  await expect.poll(() => response?.aborted).toBe(true)
})
