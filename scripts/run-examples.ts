// Runs every example, one after the other, without a key; then those that can ask a real model with one, against a stand-in on the same
// wire. Fails when one of them does. Names of examples run those alone: npm run examples -- hello-agent
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { serveStandIn } from './stand-in-model.ts'

const KEYS = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']
const failed: string[] = []

/** The environment without keys, so that no example asks a model that costs. */
const keyless = Object.fromEntries(Object.entries(process.env).filter(([name]) => !KEYS.includes(name)))

async function run(file: string, how: string, env: NodeJS.ProcessEnv): Promise<void> {
  console.log(`\n── ${file}, ${how}`)
  const example = spawn('tsx', ['--conditions=@meanwhile/source', file], {
    env,
    stdio: ['pipe', 'inherit', 'inherit'],
    timeout: 60_000,
  })
  example.stdin.end('y\n') // to whoever asks for leave
  const [code, signal] = await once(example, 'close')
  if (code === 0) return
  console.error(`${file}, ${how}, failed (${signal ?? `exit code ${code}`})`)
  failed.push(`${file}, ${how}`)
}

const asked = process.argv.slice(2)
const examples = globSync('examples/**/*.ts', { exclude: ['**/node_modules/**', 'examples/shared/**'] })
  // Beside an example lies a folder of its name with its parts.
  .filter((file) => !existsSync(`${dirname(file)}.ts`))
  .filter((file) => asked.length === 0 || asked.some((name) => file.endsWith(`/${name}.ts`)))
  .sort()

for (const file of examples) await run(file, 'without a key', keyless)

await using standIn = await serveStandIn()
for (const file of examples) {
  const source = readFileSync(file, 'utf8')
  const isAnthropic = source.includes('ANTHROPIC_API_KEY')
  const isOpenAI = source.includes('OPENAI_API_KEY') || source.includes('shared/model.ts')
  if (isAnthropic)
    await run(file, 'with a key', { ...keyless, ANTHROPIC_API_KEY: 'a', ANTHROPIC_BASE_URL: standIn.url })
  if (isOpenAI) await run(file, 'with a key', { ...keyless, OPENAI_API_KEY: 'a', OPENAI_BASE_URL: `${standIn.url}/v1` })
}

if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join('; ')}`)
  process.exitCode = 1
}
