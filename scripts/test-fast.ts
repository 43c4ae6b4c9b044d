// Checks what has changed since main: the types of everything, and in each changed folder the tests that load a changed file. Tests in other
// folders that load such a file are not run: `npm test` runs them.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
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

function run(command: string, ...args: readonly string[]): void {
  const { status, signal } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1))
}

if (values.help) {
  console.log(HELP)
} else {
  const folders = changedFolders(values.base)
  run('tsc', '-b')
  if (folders.length === 0) console.log(`No tested folder has changed since ${values.base}.`)
  else run('vitest', 'run', '--changed', values.base, '--passWithNoTests', ...folders)
}
