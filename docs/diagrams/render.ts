/**
 * Draws each diagram of this folder twice, for a light and a dark page: `npm run docs:diagrams`. The pages show the drawings of
 * `docs/pictures`, with the width and height that are written into them here.
 */

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { chromium } from 'playwright-core'

/** The colours of the page, boxes, groups, borders, lines and text. */
const SCHEMES = {
  light: { page: '#ffffff', box: '#eef1fb', group: '#f6f6f7', border: '#a9b7e8', line: '#67676c', text: '#3c3c43' },
  dark: { page: '#1b1b1f', box: '#2a3050', group: '#202127', border: '#5b6fc0', line: '#98989f', text: '#dfdfd6' },
}

function settingsOf({ page, box, group, border, line, text }: typeof SCHEMES.light) {
  return {
    startOnLoad: false,
    theme: 'base',
    // Without it the outline of a rounded box differs from drawing to drawing.
    handDrawnSeed: 1,
    // These fonts have the same widths, so the text fits its boxes on every machine.
    fontFamily: 'Arial, Helvetica, "Liberation Sans", sans-serif',
    themeVariables: {
      background: page,
      primaryColor: box,
      primaryBorderColor: border,
      primaryTextColor: text,
      lineColor: line,
      textColor: text,
      titleColor: text,
      edgeLabelBackground: page,
      clusterBkg: group,
      clusterBorder: border,
      noteBkgColor: group,
      noteBorderColor: border,
      noteTextColor: text,
      dropShadow: 'none',
      useGradient: false,
      fontSize: '15px',
    },
    flowchart: { useMaxWidth: false },
    sequence: { useMaxWidth: false },
    state: { useMaxWidth: false },
  } as const
}

/** Mermaid in the browser: only what is used of it, so that this file is checked where Mermaid is not installed. */
declare const mermaid: {
  initialize(settings: object): void
  render(id: string, code: string): Promise<{ readonly svg: string }>
}

const docs = join(import.meta.dirname, '..')
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
try {
  const tab = await browser.newPage()
  await tab.addScriptTag({ path: join(import.meta.dirname, 'node_modules/mermaid/dist/mermaid.min.js') })
  for (const file of globSync('*.mmd', { cwd: import.meta.dirname }).sort()) {
    const name = basename(file, '.mmd')
    const code = readFileSync(join(import.meta.dirname, file), 'utf8')
    for (const [scheme, colours] of Object.entries(SCHEMES)) {
      const settings = settingsOf(colours)
      const drawing = await tab.evaluate(
        async ({ name, code, settings }) => {
          mermaid.initialize(settings)
          const template = document.createElement('template')
          template.innerHTML = (await mermaid.render(name, code)).svg
          // An image must be XML, which the labels that Mermaid writes are not.
          return new XMLSerializer().serializeToString(template.content)
        },
        { name, code, settings },
      )
      const [svg = '', width = '', height = ''] =
        drawing.match(/^<svg[^>]*? width="([\d.]+)"[^>]*? height="([\d.]+)"/) ?? []
      const text = drawing
        .replace(svg, `${svg} style="background:${colours.page}"`)
        .replaceAll(/\d+\.\d{2,}/g, (number) => String(Number(Number(number).toFixed(1))))
      writeFileSync(join(docs, `pictures/${name}-${scheme}.svg`), `${text}\n`)
      setSize(name, Math.ceil(Number(width)), Math.ceil(Number(height)))
    }
  }
} finally {
  await browser.close()
}

/** Gives the drawing its size on each page that shows it, so that nothing moves when it is loaded. */
function setSize(name: string, width: number, height: number): void {
  for (const page of globSync('*.md', { cwd: docs })) {
    const text = readFileSync(join(docs, page), 'utf8')
    const sized = text.replaceAll(
      new RegExp(`(<img src="./pictures/${name}-light.svg") width="\\d+" height="\\d+"`, 'g'),
      `$1 width="${width}" height="${height}"`,
    )
    if (sized !== text) writeFileSync(join(docs, page), sized)
  }
}
