import { expect, test } from 'vitest'
import { spawnBench } from '../../test/bench-process.ts'

test('without PostgreSQL the bench says how to install it, and has failed', async () => {
  await using bench = await spawnBench(['--durable'], { ...process.env, PG_BIN: '/no/such/folder' })
  expect(await bench.ended).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^This needs PostgreSQL's .*apt-get install -y postgresql.*PG_BIN\.\n$/),
  })
})
