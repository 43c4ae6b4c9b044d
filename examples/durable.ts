// Durable runs: an API and two workers over PostgreSQL. The worker that has a run is killed, and the other one continues it. It uses the database of
// DATABASE_URL, or its own server if PostgreSQL is installed. At the end the spans of both workers are in one file.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { messageOf, textOf } from '@meanwhile/core'
import { setUpDurable } from '@meanwhile/durable'
import { otlpReceiver, type TraceRequest } from '@meanwhile/harness/otlp'
import { NoPostgresError, startCluster } from '@meanwhile/postgres-cluster'

const HELP = `Kills a worker in the middle of a run, and shows how another worker continues it.

  npm run durable -- [--trace FILE]

  --trace FILE  the file for the spans of both workers, as OTLP in JSON; default durable-trace.json
  --help        shows this text

It uses the database of DATABASE_URL, or its own PostgreSQL server in a temporary folder.`

const { values } = parseArgs({
  options: { trace: { type: 'string', default: 'durable-trace.json' }, help: { type: 'boolean', default: false } },
})

const workers: ChildProcess[] = []

async function spawnWorker(endpoint: string): Promise<ChildProcess> {
  const worker = fork(fileURLToPath(new URL('./durable/worker.ts', import.meta.url)), {
    env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
  })
  workers.push(worker)
  await Promise.race([
    once(worker, 'message'),
    once(worker, 'exit').then(() => Promise.reject(new Error('a worker ended'))),
  ])
  return worker
}

async function show(): Promise<void> {
  const receiver = await otlpReceiver()
  // The database must exist before these modules are loaded.
  const { boss, pool, runs } = await import('./durable/agent.ts')
  const { api } = await import('./durable/api.ts')
  try {
    await setUpDurable({ pool })
    await Promise.all([spawnWorker(receiver.url), spawnWorker(receiver.url)])
    api.listen(0, '127.0.0.1')
    await once(api, 'listening')
    const base = `http://127.0.0.1:${(api.address() as AddressInfo).port}/runs`

    const headers = { 'content-type': 'application/json' }
    const started = await fetch(base, {
      method: 'POST',
      headers,
      body: JSON.stringify({ text: 'How high is the water?' }),
    })
    const { id } = (await started.json()) as { readonly id: string }
    console.log(`run ${id} is started`)
    let holder: ChildProcess | undefined
    for await (const { event } of runs.events(id)) {
      if (event.type === 'tool-start' && event.rerun) console.log('  that call was cut off: it is made again')
      if (event.type === 'tool-end') {
        console.log(`  ${textOf(event.message)}`)
        holder ??= workers.find(({ pid }) => textOf(event.message).endsWith(` ${pid}`))
      }
      if (event.type === 'tool-entered' && event.step === 2 && holder && !holder.killed) {
        holder.kill('SIGKILL')
        console.log(
          `worker ${holder.pid} is killed in the middle of a call; pg-boss misses its heartbeat after 10 seconds`,
        )
      }
      if (event.type === 'question') {
        console.log(`  it asks ${JSON.stringify(event.payload)}, and the answer is yes`)
        await fetch(`${base}/${id}/answers`, { method: 'POST', headers, body: JSON.stringify({ [event.id]: 'yes' }) })
      }
    }
    console.log((await runs.result(id)).text)
  } finally {
    await Promise.all(workers.map(stop))
    api.close()
    api.closeAllConnections()
    await boss.stop({ graceful: false })
    await pool.end()
    await receiver.close()
  }
  const resourceSpans = receiver.requests.flatMap(({ body }) => (JSON.parse(body) as TraceRequest).resourceSpans ?? [])
  await writeFile(values.trace, `${JSON.stringify({ resourceSpans })}\n`)
  const names = receiver.spans.map(({ resource }) => String(resource['service.name']))
  for (const name of new Set(names)) console.log(`${name}: ${names.filter((one) => one === name).length} spans`)
  console.log(`all of them are in ${values.trace}`)
}

async function stop(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const ended = once(worker, 'exit')
  worker.kill('SIGTERM')
  await ended
}

async function showOnServerOfItsOwn(): Promise<void> {
  const cluster = await startCluster()
  process.env.DATABASE_URL = cluster.url
  try {
    await show()
  } finally {
    await cluster.close()
  }
}

// The workers and the server end with this process.
process.once('SIGINT', () => process.exit(130))

if (values.help) console.log(HELP)
else {
  try {
    await (process.env.DATABASE_URL ? show() : showOnServerOfItsOwn())
  } catch (error) {
    const hint = error instanceof NoPostgresError ? ' Or name a database in DATABASE_URL.' : ''
    console.error(messageOf(error) + hint)
    process.exitCode = 1
  }
}
