/** The default theme, with room for lines of 120 characters, and diagrams. */

import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { Mermaid } from './mermaid.ts'
import './wide.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Mermaid', Mermaid)
  },
} satisfies Theme
