/** The default theme, with room for lines of 120 characters, and pictures. */

import DefaultTheme from 'vitepress/theme'
import './wide.css'

export default DefaultTheme
