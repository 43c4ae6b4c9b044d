/**
 * Writes docs/other-requests.md: what the requests of other libraries break. With --check it writes nothing and fails if the page is out of
 * date. Only the page's author needs Mastra: its requests are recorded, and the check plays the recording.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { WIRE_NAMES } from '@meanwhile/harness/server'
import { load } from '../../other-libraries/load.ts'
import { LIBRARIES } from '../drop-ins/loops.ts'
import type { PeerName } from '../modes.ts'
import { type Load, WIRES_OF } from '../peers/driver.ts'
import { DRIVERS } from '../peers/drivers.ts'
import { packagesOf, packagesWanted } from '../peers/install.ts'
import { type Library, pageOf } from './page.ts'
import { OldRecordingError, recordingOf, replayed } from './recorded.ts'
import { type Sent, sentBy } from './sent.ts'

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const PAGE = fileOf('../../../../docs/other-requests.md')
const RECORDING = fileOf('../../test-data/mastra-requests.json')
/** The libraries that have a drop-in are development dependencies of this package. */
const OURS = fileURLToPath(new URL('.', import.meta.resolve('@meanwhile/eager-tools')))
const MASTRA = '@mastra/core'
const MASTRA_FOLDER = fileOf('../../other-libraries')

const isCheck = process.argv.includes('--check')

// Its warnings are about the made-up names of models.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

try {
  const libraries: Library[] = []
  for (const name of LIBRARIES) {
    const sent = await sentOf(name, (specifier) => import(specifier))
    libraries.push({ name, packages: await packagesOf(name, OURS), wires: wiresOf(name), sent })
  }
  libraries.push(await mastra())
  const page = pageOf(libraries)
  if (!isCheck) writeFileSync(PAGE, page)
  else if (readFileSync(PAGE, 'utf8') !== page) outOfDate('docs/other-requests.md is out of date')
} catch (error) {
  if (!(error instanceof OldRecordingError)) throw error
  outOfDate(`apps/bench/test-data/mastra-requests.json: ${error.message}`)
}

async function mastra(): Promise<Library> {
  const packages = await packagesWanted(MASTRA, MASTRA_FOLDER)
  if (!isCheck) writeFileSync(RECORDING, recordingOf(packages, await sentOf(MASTRA, load)))
  return {
    name: MASTRA,
    packages,
    wires: wiresOf(MASTRA),
    sent: await replayed(readFileSync(RECORDING, 'utf8'), packages),
  }
}

async function sentOf(name: PeerName, load: Load): Promise<readonly Sent[]> {
  const run = await DRIVERS[name](load)
  return (await Promise.all(wiresOf(name).map((wire) => sentBy(run, wire)))).flat()
}

function wiresOf(name: PeerName): readonly (typeof WIRE_NAMES)[number][] {
  return WIRES_OF[name] ?? WIRE_NAMES
}

function outOfDate(what: string): void {
  console.error(`${what}: npm run docs:other-requests`)
  process.exitCode = 1
}
