import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { createDatabase, startCluster } from './index.ts'

async function ask(url: string, question: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(question)).rows
  } finally {
    await client.end()
  }
}

async function dataOf(url: string): Promise<string> {
  const [row] = await ask(url, 'SHOW data_directory')
  return Object(row).data_directory
}

test('a cluster waits for the disk, keeps committed data over a crash, and leaves nothing behind when it is closed', async () => {
  const cluster = await startCluster()
  try {
    expect(await ask(cluster.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
    const url = await createDatabase(cluster.url)
    await ask(url, 'CREATE TABLE kept AS SELECT 1 AS number')
    await cluster.crash()
    await expect(ask(url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await cluster.start()
    expect(await ask(url, 'SELECT number FROM kept')).toEqual([{ number: 1 }])
    await cluster.restart()
    expect(await ask(url, 'SELECT number FROM kept')).toEqual([{ number: 1 }])
    const data = await dataOf(url)
    await access(data)
    await cluster.close()
    await expect(access(data)).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(ask(url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  } finally {
    await cluster.close()
  }
})

test.each(['SIGINT', 'SIGKILL'] as const)('a process that is ended by %s leaves no cluster behind', async (signal) => {
  const program = `
    import { startCluster } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
    const { url } = await startCluster()
    console.log(url)
  `
  const owner = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [url] = await once(createInterface(owner.stdout), 'line')
    const data = await dataOf(url)
    owner.kill(signal)
    await expect
      .poll(
        () =>
          access(data).then(
            () => 'there',
            () => 'gone',
          ),
        { timeout: 60_000 },
      )
      .toBe('gone')
    await expect(ask(url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  } finally {
    owner.kill('SIGKILL')
  }
})
