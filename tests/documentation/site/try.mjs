// SPDX-License-Identifier: BSL-1.0
// Uses the site in a browser: try.mjs SITE CHROMIUM [FOLDER FOR PICTURES] [REGULAR EXPRESSION OF PAGES]. Status 1: something is wrong.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { serve } from './server.mjs'

const [site, executablePath, pictures, only = ''] = process.argv.slice(2)
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
// Dark on a phone is light on a phone in the colours of dark at 1280 px: some pages are enough.
const views = [[1280, 'light', /^/], [1280, 'dark', /^/], [390, 'light', /^/], [390, 'dark', /^\/(|(overview|tutorial|performance|reference\/(index|basic_lease))\.html)$/]]

const wrong = []
let checks = 0
function check(good, what) {
  ++checks
  if (!good) {
    wrong.push(what)
    console.log(`WRONG ${what}`)
  }
}

const server = await serve(site)
const origin = `http://127.0.0.1:${server.address().port}`
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })

/// A page of the browser that counts what must not happen.
async function view(width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, permissions: ['clipboard-read', 'clipboard-write'] })
  context.setDefaultTimeout(120000)  // for busy machines
  const page = await context.newPage()
  const where = () => `${new URL(page.url()).pathname} at ${width} px, ${colorScheme}`
  // Without network, VitePress still tries to fetch the pages behind the links that come into view.
  page.on('console', (message) => check(message.type() !== 'error' || /ERR_INTERNET_DISCONNECTED/.test(message.text()), `${where()}: the console says: ${message.text()}`))
  page.on('pageerror', (error) => check(false, `${where()}: ${error}`))
  page.on('request', (request) => check(request.url().startsWith(origin) || /^(data|blob):/.test(request.url()), `${where()}: loads ${request.url()}`))
  page.on('response', (response) => check(response.status() < 400, `${where()}: ${response.status()} for ${response.url()}`))
  return { page, where, close: () => context.close() }
}

async function opened(width, colorScheme, address) {
  const seen = await view(width, colorScheme)
  await seen.page.goto(origin + address, { waitUntil: 'networkidle' })
  return seen
}

/// The elements that make a page wider than the window, or text that is cut off by its box.
async function tooWide(page) {
  return page.evaluate(() => {
    const most = document.documentElement.clientWidth
    if (document.documentElement.scrollWidth <= most) return []
    return [...document.querySelectorAll('body *')].filter((each) => each.getBoundingClientRect().right > most + 1).slice(-3)
      .map((each) => each.outerHTML.slice(0, 90))
  })
}

/// Code and drawings with a line that is broken, or that can't be scrolled to its end.
async function brokenCode(page) {
  return page.evaluate(() => [...document.querySelectorAll('.vp-doc pre:not(.demo-recording *)')].filter((each) => {
    const code = each.querySelector('code') ?? each
    const lines = code.textContent.trimEnd().split('\n').length
    const height = parseFloat(getComputedStyle(code).lineHeight)
    return code.getBoundingClientRect().height > (lines + 0.9) * height || !/auto|scroll/.test(getComputedStyle(each).overflowX)
  }).map((each) => each.textContent.slice(0, 60)))
}

/// Tables that would have to be scrolled sideways.
async function cutTables(page) {
  return page.evaluate(() => [...document.querySelectorAll('.vp-doc .wide-table')].filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.textContent.slice(0, 60)))
}

async function accessible(page, where) {
  await page.evaluate(axe)
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }))
  check(found.passes.length > 10, `${where}: axe looked at nothing`)
  for (const each of found.violations)
    check(false, `${where}: axe: ${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map((node) => `${node.target} ${node.any[0]?.message ?? ''}`).join('; ')}`)
}

const guide = fs.readdirSync(site).filter((name) => name.endsWith('.html') && name !== '404.html')
  .map((name) => name === 'index.html' ? '/' : `/${name}`)
check(guide.length > 30, `only ${guide.length} pages`)
const examples = ['/source/examples/quick_start.cpp.html', '/source/examples.html', '/source/conan/README.html',
  ...['index', 'basic_lease', 'lease_guard', 'lease_store', 'lease_terms', 'errc', 'odbc.fence', 'shard_group'].map((name) => `/reference/${name}.html`)]
for (const [width, colorScheme, among] of views) {
  const { page, where, close } = await view(width, colorScheme)
  for (const address of [...guide, ...examples].filter((each) => each.match(only) && among.test(each))) {
    await page.goto(origin + address, { waitUntil: 'load' })
    await page.locator('#VPSidebarNav, .front-page').first().waitFor({ state: 'attached' })
    check((await tooWide(page)).length === 0, `${where()}: is wider than the window: ${await tooWide(page)}`)
    check((await brokenCode(page)).length === 0, `${where()}: broken lines: ${await brokenCode(page)}`)
    if (width === 1280 ? /^\/(overview|beside)/.test(address) : /^\/(metrics|recurring|reference\/index)/.test(address))
      check((await cutTables(page)).length === 0, `${where()}: a table is cut: ${await cutTables(page)}`)
    check(await page.locator('h1').count() === 1, `${where()}: has not one h1`)
    await accessible(page, where())
    if (pictures) {
      const name = address === '/' ? 'index' : address.replace(/^\/|\.html$/g, '').replaceAll('/', '-')
      await page.screenshot({ path: path.join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: address === '/' })
    }
  }
  await close()
}
/// Opens the search by keyboard; on a slow machine the page may not listen yet.
async function openSearch(page) {
  const input = page.locator('.VPLocalSearchBox input')
  for (let i = 0; i < 60 && !await input.isVisible(); ++i) {
    await page.keyboard.press('Control+k')
    await page.waitForTimeout(500)
  }
  return input
}
{  // search, by keyboard, leads to the page
  const { page, where, close } = await opened(1280, 'light', '/')
  await (await openSearch(page)).fill('fencing token late write')
  await page.locator('.VPLocalSearchBox .result').first().waitFor()
  const titles = await page.locator('.VPLocalSearchBox .result').allTextContents()
  check(titles.some((title) => title.includes('late holder')), `${where()}: the search finds ${titles}`)
  await page.locator('.VPLocalSearchBox .result', { hasText: 'late holder' }).first().click()
  await page.waitForURL(/fencing\.html/)
  await page.locator('h1', { hasText: 'late holder' }).waitFor()
  await close()
}
{  // the copy button copies the program as it stands in the page's source
  const { page, where, close } = await opened(1280, 'light', '/overview.html')
  const block = page.locator('div.language-cpp').first()
  await block.hover()
  await block.locator('button.copy').click()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  const readme = (await block.locator('pre').textContent()).trimEnd()
  check(copied.includes('int main()') && copied.trimEnd() === readme, `${where()}: copied ${copied.slice(0, 80)}`)
  await close()
}
{  // dark and light by the reader's choice, kept on the next page
  const { page, where, close } = await opened(1280, 'light', '/using.html')
  await page.locator('.VPNavBarAppearance button').click()
  check(await page.evaluate(() => document.documentElement.classList.contains('dark')), `${where()}: the switch does not darken`)
  await page.locator('.pager-link.next').click()
  await page.waitForURL((url) => !url.pathname.includes('using'))
  check(await page.evaluate(() => document.documentElement.classList.contains('dark')), `${where()}: the next page is light again`)
  await close()
}
/// The first results of the search for a text.
async function found(text) {
  const { page, close } = await opened(1280, 'light', '/glossary.html')
  await (await openSearch(page)).fill(text)
  await page.locator('.VPLocalSearchBox .result').first().waitFor()
  await page.waitForTimeout(300)
  const addresses = await page.locator('.VPLocalSearchBox .result').evaluateAll((all) => all.map((each) => each.getAttribute('href')))
  await close()
  return addresses
}
for (const [name, address] of [['lease_guard', 'lease_guard.html'], ['lh::basic_lease', 'basic_lease.html'], ['try_acquire_for', 'try_acquire_for'],
  ['renew_at_fraction', 'renew_at_fraction.html'], ['odbc_options', 'odbc_options.html'], ['shard_group', 'shard_group.html'],
  ['hold', 'name_holding.html#hold'], ['recurring', '/recurring.html'], ['to_text', 'to_text.html']]) {
  // a public name leads to its page in the reference
  const first = (await found(name)).slice(0, 3)
  check(first.some((each) => each.startsWith('/reference/') && each.includes(address)), `the search for ${name} finds first ${first}`)
}
for (const [purpose, guide] of [['job once a night', 'recurring'], ['one leader', 'elections'], ['at most n at a time', 'several_rights'],
  ['readers or one writer', 'several_rights'], ['divide shards', 'shards'], ['late write', 'fencing'], ['from a shell', 'command'],
  ['wait without a thread', 'asynchronous'], ['microcontroller', 'embedded'], ['test my code', 'testing_your_code']]) {
  // each purpose of README.md leads to its page by one search
  const first = (await found(purpose)).slice(0, 5)
  check(first.some((each) => each.startsWith(`/${guide}.html`)), `the search for ${purpose} finds first ${first}`)
}
{  // from the front page the page of each purpose is two clicks away
  const { page, where, close } = await opened(1280, 'light', '/')
  await page.getByRole('link', { name: 'I want X: use Y' }).click()
  await page.waitForURL(/overview\.html#i-want-x-use-y/)
  const rows = page.locator('#i-want-x-use-y ~ .wide-table').first().locator('tbody tr')
  const links = await rows.evaluateAll((all) => all.map((each) => each.querySelector('td:last-child a')?.getAttribute('href')))
  check(links.length === 10, `${where()}: ${links.length} purposes`)
  // The words of the row, as somebody would type them, find that page too.
  const purposes = (await rows.locator('td:first-child').allTextContents()).map((each) => each.trim())
  for (let i = 0; i < links.length; ++i) {
    const first = (await found(purposes[i])).slice(0, 5)
    check(first.some((each) => each.startsWith(links[i].split('#')[0])), `the search for ${purposes[i]} finds first ${first}`)
  }
  for (let i = 0; i < links.length; ++i) {
    await rows.nth(i).locator('td:last-child a').first().click()
    await page.waitForURL((url) => !url.pathname.includes('overview'))
    const [address, place] = links[i].split('#')
    check(new URL(page.url()).pathname === address && !address.startsWith('/reference/'), `${where()}: not the page of purpose ${i + 1}`)
    if (place) await page.locator(`[id="${place}"]`).waitFor().catch(() => check(false, `${where()}: there is no ${place}`))
    await page.goBack()
    await page.waitForURL(/overview\.html/)
    await rows.first().waitFor()
  }
  await close()
}
for (const text of ['rate limit', 'clock', 'lease']) {
  const first = (await found(text))[0]
  check(!/^\/(testing|simulation|memory_orders|how_it_works|performance)\.html|^\/source\//.test(first), `the search for ${text} finds first ${first}`)
}
{  // public names in guides lead to their pages, in the text and in programs
  const { page, where, close } = await opened(1280, 'light', '/fencing.html')
  check(await page.locator('.vp-doc pre a', { hasText: 'fence' }).first().getAttribute('href') === '/reference/odbc.fence.html', `${where()}: fence in a program`)
  await page.locator('.vp-doc pre a', { hasText: 'fence' }).first().click()
  await page.waitForURL(/reference\/odbc\.fence\.html/)
  await page.locator('h1', { hasText: 'odbc::fence' }).waitFor()
  await close()
}
{  // what a guard inherits is on its page
  const { page, where, close } = await opened(1280, 'light', '/reference/lease_guard.html')
  for (const member of ['held', 'token', 'release', 'stop_token', 'renew'])
    await page.locator(`h3#${member}`).waitFor({ state: 'attached' }).catch(() => check(false, `${where()}: there is no ${member}`))
  await close()
}
{  // maintainers' pages have a menu of their own
  const { page, where, close } = await opened(1280, 'light', '/testing.html')
  const texts = await page.locator('.VPSidebar .text').allTextContents()
  check(texts.includes('Simulator') && !texts.includes('Fencing'), `${where()}: the menu has ${texts}`)
  await close()
}
for (const [width, colorScheme] of [[1280, 'light'], [390, 'dark']]) {  // the live picture, by keyboard, without network
  const { page, where, close } = await opened(width, colorScheme, '/')
  const picture = page.locator('.live-picture.ready')
  await picture.waitFor()
  await page.context().setOffline(true)
  const press = async (name) => {
    const button = page.getByRole('button', { name, exact: true })
    await button.focus()
    await page.keyboard.press('Enter')
  }
  const says = (name, text) => picture.getByRole('group', { name: `Replica ${name}` }).locator('.head', { hasText: text })
    .waitFor({ timeout: 20000 }).catch(async () => check(false, `${where()}: ${name} is not: ${text}: ${await picture.locator('.head').allTextContents()}`))
  await press('Start three replicas')
  await press('Pause')
  for (let i = 0; i < 6; ++i) await press('Step 1 s')
  await says('A', 'holds token 1')
  check(await picture.locator('.chips .owned').count() === 6, `${where()}: not all shards have an owner`)
  await press('Freeze A')
  for (let i = 0; i < 6; ++i) await press('Step 1 s')
  await says('B', 'holds token')
  await press('Thaw A')
  await picture.locator('.log .refused', { hasText: "refuses A's late write with token 1" }).waitFor()
  await says('A', 'waits')
  await press('Cut off B')
  for (let i = 0; i < 6; ++i) await press('Step 1 s')
  await says('B', 'waits, cut off')
  await press('Kill C')
  await says('C', 'does not run')
  await press('Run')
  const label = () => picture.locator('svg').getAttribute('aria-label')
  const before = await picture.locator('svg').innerHTML()
  await page.waitForTimeout(500)
  check(before !== await picture.locator('svg').innerHTML(), `${where()}: the clock does not run`)
  check((await label()).includes('refused 1'), `${where()}: the time line says ${await label()}`)
  check((await tooWide(page)).length === 0, `${where()}: is wider than the window: ${await tooWide(page)}`)
  await accessible(page, where())
  if (pictures) await picture.screenshot({ path: path.join(pictures, `live-${width}-${colorScheme}.png`) })
  await page.context().setOffline(false)
  await close()
}
{  // who wants less motion gets a clock that stands
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(origin + '/', { waitUntil: 'networkidle' })
  await page.getByRole('button', { name: 'Start three replicas' }).click()
  const before = await page.locator('.live-picture svg').innerHTML()
  await page.waitForTimeout(500)
  check(before === await page.locator('.live-picture svg').innerHTML(), 'the picture moves by itself, against prefers-reduced-motion')
  check(await page.locator('.live-picture', { hasText: 'asks for less motion' }).count() === 1, 'the picture does not say why its clock stands')
  await context.close()
}
{  // without scripts, a drawing
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(origin + '/')
  check(await page.locator('.live-picture img').evaluate((each) => each.naturalWidth > 100), 'without scripts there is no picture')
  check(await page.locator('pre', { hasText: 'int main()' }).count() === 1, 'without scripts there is no program')
  await context.close()
}
{  // menu, contents, install tabs, recording
  const { page, where, close } = await opened(1280, 'light', '/')
  await page.locator('.vp-code-group label', { hasText: 'Conan' }).click()
  check(await page.locator('.vp-code-group .language-sh.active').textContent().then((text) => text.includes('conan create')), `${where()}: the tab of Conan`)
  await page.locator('.demo-recording').scrollIntoViewIfNeeded()
  await page.locator('.demo-recording .ap-player').waitFor()
  await page.locator('.demo-recording .ap-overlay-start, .demo-recording .ap-playback-button').first().click()
  await page.locator('.demo-recording', { hasText: 'starts three processes' }).waitFor()
  await close()
}
{
  const { page, where, close } = await opened(1280, 'light', '/operations.html')
  const groups = await page.locator('.VPSidebar h2').allTextContents()
  check(groups.join() === 'Start,Use,Operate,Extend', `${where()}: the menu has ${groups}`)
  check(await page.locator('.VPDocAsideOutline a').count() > 5, `${where()}: no contents`)
  await close()
}
{  // on a phone the menu opens and leads on
  const { page, where, close } = await opened(390, 'light', '/using.html')
  await page.locator('.VPLocalNav button.menu').click()
  await page.locator('.VPSidebar a', { hasText: 'Durations' }).click()
  await page.waitForURL(/durations\.html/)
  await page.locator('.VPSidebar.open').waitFor({ state: 'detached' }).catch(() => check(false, `${where()}: the menu stays open`))
  await close()
}
{  // a line of 80 columns stands in a page's column
  const { page, where, close } = await opened(1280, 'light', '/errors.html')
  const columns = await page.evaluate(() => {
    const code = document.querySelector('.vp-doc pre.shiki code')
    const probe = code.appendChild(Object.assign(document.createElement('span'), { textContent: 'x'.repeat(80) }))
    const left = code.parentElement.clientWidth - parseFloat(getComputedStyle(code).paddingLeft) * 2
    const width = probe.getBoundingClientRect().width / 80
    probe.remove()
    return left / width
  })
  check(columns >= 80, `${where()}: a page has ${columns} columns of code`)
  await close()
}

await browser.close()
server.close()
console.log(`${checks} checks of ${only ? `the pages ${only}` : `${guide.length + examples.length} pages`}, ${wrong.length} wrong`)
process.exit(wrong.length > 0 ? 1 : 0)
