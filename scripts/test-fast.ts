// Checks what has changed since main: the types of everything, and in each changed folder the tests that load a changed file. Tests in other
// folders that load such a file are not run: `npm test` runs them.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'

const HELP = `npm run test:fast [-- --base COMMIT]
  checks types, and runs the tests of the folders that have changed since COMMIT (default: main),
  if they load a changed file; uncommitted and new files count as changed`

const { values } = parseArgs({ options: { base: { type: 'string', default: 'main' }, help: { type: 'boolean' } } })

/** The folders with tests that contain the changed files. */
function changedFolders(base: string): readonly string[] {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)
  const files = [
    ...git('diff', '--name-only', '--merge-base', base),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]
  const folders = files.flatMap((file) => {
    const [top, folder] = file.split('/')
    if (top === 'scripts') return `${top}/`
    if (!folder || (top !== 'packages' && top !== 'apps')) return []
    // A deleted folder has no tests, nor has a single file.
    return existsSync(join(top, folder, 'package.json')) ? `${top}/${folder}/` : []
  })
  return [...new Set(folders)]
}

/** What the compiler says about the types; undefined if they are right. */
async function typeErrors(): Promise<string | undefined> {
  const compiler = spawn('tsc', ['-b'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said, [code]] = await Promise.all([text(compiler.stdout), once(compiler, 'close')])
  return code === 0 ? undefined : said
}

async function testsPass(base: string, folders: readonly string[]): Promise<boolean> {
  const args = ['run', '--changed', base, '--passWithNoTests', ...folders]
  const [code] = await once(spawn('vitest', args, { stdio: 'inherit' }), 'close')
  return code === 0
}

if (values.help) {
  console.log(HELP)
} else {
  const folders = changedFolders(values.base)
  if (folders.length === 0) console.log(`No tested folder has changed since ${values.base}.`)
  // At the same time, because the compiler uses one processor.
  const [errors, pass] = await Promise.all([typeErrors(), folders.length === 0 || testsPass(values.base, folders)])
  // After the results of the tests, where they are seen.
  if (errors !== undefined) console.error(errors)
  if (errors !== undefined || !pass) process.exitCode = 1
}
