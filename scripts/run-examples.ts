// Runs every example, a few at a time: without a key and, if it can use a real model, with a key against a stand-in model on the same wire.
// Fails if one of them fails. Names of examples run only these: npm run examples -- hello-agent
// Each is built to one file, which starts faster than its many sources.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { findBinaries, NoPostgresError } from '@meanwhile/postgres-cluster'
import { buildPrograms, folderOfPrograms } from '@meanwhile/tests/programs/build'
import { serveStandIn } from './stand-in-model.ts'

interface Job {
  readonly file: string
  readonly how: string
  readonly env: NodeJS.ProcessEnv
}

/** They mostly wait for their models. */
const AT_ONCE = 5
const KEYS = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']

/** The environment without keys, so that no example calls a model that costs money. */
const keyless = Object.fromEntries(Object.entries(process.env).filter(([name]) => !KEYS.includes(name)))

function jobsOf(file: string, standIn: string): readonly Job[] {
  const source = readFileSync(file, 'utf8')
  const how = 'with a key'
  const jobs: Job[] = [{ file, how: 'without a key', env: keyless }]
  if (/OPENAI_API_KEY|shared\/(demo-)?model\.ts/.test(source)) {
    jobs.push({ file, how, env: { ...keyless, OPENAI_API_KEY: 'a', OPENAI_BASE_URL: `${standIn}/v1` } })
  }
  if (source.includes('ANTHROPIC_API_KEY')) {
    jobs.push({ file, how, env: { ...keyless, ANTHROPIC_API_KEY: 'a', ANTHROPIC_BASE_URL: standIn } })
  }
  return jobs
}

/** Whether it succeeded. Its output is printed when it has ended. */
async function succeeds({ file, how, env }: Job, programs: Readonly<Record<string, string>>): Promise<boolean> {
  // A program that it starts is not built.
  const args = ['--conditions=@meanwhile/source', programs[file] ?? file]
  const isChat = file.endsWith('/terminal-agent.ts')
  const example = spawn(process.execPath, isChat ? [...args, ':memory:'] : args, { env, timeout: 300_000 })
  // An example that asks for permission gets it. Examples that do not ask may have ended by then.
  example.stdin.on('error', () => {}).end(isChat ? 'Write to ada@example.org.\ny\n' : 'y\n')
  const [out, errors, [code, signal]] = await Promise.all([
    text(example.stdout),
    text(example.stderr),
    once(example, 'close'),
  ])
  console.log(`\n── ${file}, ${how}\n${out}${errors}`.trimEnd())
  if (code !== 0) console.error(`failed (${signal ?? `exit code ${code}`})`)
  return code === 0
}

/** Why an example cannot run on this machine; undefined if it can. */
function lacking(file: string): string | undefined {
  if (!readFileSync(file, 'utf8').includes('@meanwhile/postgres-cluster') || process.env.DATABASE_URL) return undefined
  try {
    findBinaries()
    return undefined
  } catch (error) {
    if (error instanceof NoPostgresError) return error.message
    throw error
  }
}

const asked = process.argv.slice(2)
const examples = globSync('examples/**/*.ts', {
  exclude: ['**/node_modules/**', 'examples/shared/**', 'examples/chat/**'],
})
  // A folder with the name of an example contains its parts.
  .filter((file) => !existsSync(`${dirname(file)}.ts`))
  .filter((file) => asked.length === 0 || asked.some((name) => file.endsWith(`/${name}.ts`)))
  .sort()
const unknown = asked.filter((name) => !examples.some((file) => file.endsWith(`/${name}.ts`)))
if (unknown.length > 0) {
  console.error(`error: no example is called ${unknown.join(', ')} (examples/README.md lists them)`)
  process.exit(2)
}

const isAsked = asked.length > 0
const leftOut = isAsked ? [] : examples.filter((file) => lacking(file) !== undefined)

const failed: string[] = []
const folder = folderOfPrograms()
try {
  const files = examples.filter((file) => !leftOut.includes(file))
  const programs = await buildPrograms(files, folder)
  await using standIn = await serveStandIn()
  const work = files.flatMap((file) => jobsOf(file, standIn.url)).values()
  const worker = async (): Promise<void> => {
    for (const job of work) if (!(await succeeds(job, programs))) failed.push(`${job.file}, ${job.how}`)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
} finally {
  rmSync(folder, { recursive: true })
}

for (const file of leftOut) console.log(`\n── ${file}, skipped: ${lacking(file)}`)
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join('; ')}`)
  process.exitCode = 1
}
