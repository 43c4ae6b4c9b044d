// Writes docs/other-requests.md: what the requests of other libraries break. With --check it writes nothing and fails if the page is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { WIRE_NAMES } from '@meanwhile/harness/server'
import { LIBRARIES } from '../drop-ins/loops.ts'
import { WIRES_OF } from '../peers/driver.ts'
import { DRIVERS } from '../peers/drivers.ts'
import { packagesOf } from '../peers/install.ts'
import { type Library, pageOf } from './page.ts'
import { sentBy } from './sent.ts'

const PAGE = fileURLToPath(new URL('../../../../docs/other-requests.md', import.meta.url))
/** The libraries are development dependencies of this package. */
const FOLDER = fileURLToPath(new URL('.', import.meta.resolve('@meanwhile/eager-tools')))

// Its warnings are about the made-up names of models.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)

const libraries: Library[] = []
for (const name of LIBRARIES) {
  const run = await DRIVERS[name]((specifier) => import(specifier))
  const wires = WIRES_OF[name] ?? WIRE_NAMES
  const sent = (await Promise.all(wires.map((wire) => sentBy(run, wire)))).flat()
  libraries.push({ name, packages: await packagesOf(name, FOLDER), wires, sent })
}

const page = pageOf(libraries)
if (!process.argv.includes('--check')) writeFileSync(PAGE, page)
else if (readFileSync(PAGE, 'utf8') !== page) {
  console.error('docs/other-requests.md is out of date: npm run docs:other-requests')
  process.exitCode = 1
}
