// Checks packed packages for known mistakes: node scripts/packages/lint-tarballs.ts TARBALL…
// All in one process, because publint and attw ("are the types wrong?") start for longer than they work.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { getExitCode } from '@arethetypeswrong/cli/internal/getExitCode'
import { typed } from '@arethetypeswrong/cli/internal/render'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/** The packages are ES modules only. */
const ES_MODULES = { ignoreResolutions: ['node10', 'node16-cjs'] } satisfies Parameters<typeof getExitCode>[1]

/** Suggestions are only printed. */
async function lint(tarball: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true })
  for (const message of messages) console.log(`${message.type}: ${formatMessage(message, pkg)}`)
  return messages.every(({ type }) => type !== 'error')
}

async function typesAreRight(tarball: Uint8Array): Promise<boolean> {
  const analysis = await checkPackage(createPackageFromTarballData(tarball), { excludeEntrypoints: [/\.css$/] })
  if (getExitCode(analysis, ES_MODULES) === 0) return true
  if (analysis.types) console.log(await typed(analysis, ES_MODULES))
  return false
}

for (const file of process.argv.slice(2)) {
  const tarball = new Uint8Array(readFileSync(file))
  console.log(`── ${basename(file)}`)
  const ends = [await lint(tarball), await typesAreRight(tarball)]
  if (ends.includes(false)) process.exitCode = 1
}
