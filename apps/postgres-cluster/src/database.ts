import { randomUUID } from 'node:crypto'
import { Client } from 'pg'

/** Creates an empty database on the same server as the database of the URL. Returns its URL. */
export async function createDatabase(url: string): Promise<string> {
  const name = `d_${randomUUID().replaceAll('-', '')}`
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${name}`)
  } finally {
    await client.end()
  }
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}
