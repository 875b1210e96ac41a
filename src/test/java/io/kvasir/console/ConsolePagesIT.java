package io.kvasir.console;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The console's pages in a browser, over a fleet with all that is rarely together: many workers, faults, markup. */
final class ConsolePagesIT {
  private static final List<String> PAGES =
      List.of(
          "overview", "overview?as=table", "overview?worker=vllm-5", "decisions", "decisions/d0", "explain", "prefixes",
          "sources", "cluster", "tenants", "profiles", "log");
  private static final String TAB = "\uE004";
  private static final String ARROW_RIGHT = "\uE014";
  private static final String ARROW_DOWN = "\uE015";
  private static final String ENTER = "\uE007";
  private static final String ESCAPE = "\uE00C";

  private static Browser browser;

  private static FakeAdmin admin;

  @BeforeAll
  static void open() throws IOException {
    browser = Browser.start();
    admin = FakeAdmin.start(new FakeFleet(1));
  }

  @AfterAll
  static void close() {
    if (browser != null) {
      browser.close();
      admin.close();
    }
  }

  @ParameterizedTest
  @CsvSource({"1280, light", "390, dark"})
  void everyPage_isDrawn_withinTheWindow_withoutAComplaint(int width, String scheme) throws Exception {
    signIn(40, FakeAdmin.KEY, width, scheme);
    for (String page : PAGES) {
      go(page);
      browser.screenshot("%s-%d-%s".formatted(page.replaceAll("[/?=]", "-"), width, scheme));
      assertThat(browser.script("return document.documentElement.scrollWidth").asInt()).as(page).isEqualTo(width);
    }
    assertThat(browser.complaints()).isEmpty();
    assertThat(browser.requests())
        .allMatch(request -> request.getAuthority().equals(admin.console().getAuthority()))
        .hasSizeGreaterThan(10);
  }

  @Test
  void namesThatAreMarkup_stayText() throws Exception {
    signIn(12, FakeAdmin.KEY, 1280, "light");
    go("overview?worker=" + FakeFleet.MARKUP.replace(" ", "%20"));
    for (String page : List.of("", "overview?group=model", "decisions", "explain", "tenants", "log", "prefixes")) {
      if (!page.isEmpty()) {
        go(page);
      }
      if (!page.equals("explain")) {
        browser.until("document.body.innerText.includes(arguments[0])", FakeFleet.MARKUP);
      }
      assertThat(browser.script("return document.querySelectorAll('img, #app script').length").asInt()).isZero();
    }
    assertThat(browser.script("return window.hurt === undefined").asBoolean()).isTrue();
    assertThat(browser.complaints()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {256, 1000})
  void map_hasATileForEachWorker_andArrowKeys(int workers) throws Exception {
    signIn(workers, FakeAdmin.KEY, 1280, "light");
    browser.until("document.querySelectorAll('[role=gridcell]').length == arguments[0]", Integer.toString(workers));
    assertThat(browser.script("return document.querySelectorAll('[role=gridcell][tabindex=\"0\"]').length").asInt())
        .isEqualTo(1);
    browser.screenshot("map-" + workers);
    browser.script("document.querySelector('[role=gridcell][tabindex=\"0\"]').focus()");
    String first = focused();
    browser.press(ARROW_RIGHT);
    String second = focused();
    browser.press(ARROW_DOWN);
    assertThat(List.of(first, second, focused())).doesNotHaveDuplicates();
    assertThat(browser.script("""
        const place = id => document.querySelector(`[data-worker="${id}"]`).getBoundingClientRect();
        const [from, to] = [...arguments].map(place);
        return to.top > from.top && to.left == from.left""", second, focused()).asBoolean()).isTrue();
    String chosen = focused();
    browser.press(ENTER);
    assertThat(browser.text("[data-drawer] h2")).isEqualTo(chosen);
    browser.press(ESCAPE);
    browser.until("!document.querySelector('[data-drawer]')");
    assertThat(focused()).isEqualTo(chosen);
    browser.press("/");
    browser.until("document.activeElement.matches('[data-search]')");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void keys_leadToPages_andAreExplained() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.press("6");
    browser.until("document.querySelector('[data-page=cluster]')");
    browser.press("?");
    assertThat(browser.text("dialog")).contains("search or filter", "light or dark");
    browser.press(ESCAPE);
    browser.until("!document.querySelector('dialog')");
    browser.press("t");
    assertThat(browser.script("return document.documentElement.dataset.theme").asText()).isEqualTo("light");
    browser.press("t");
    assertThat(browser.script("return getComputedStyle(document.body).backgroundColor").asText())
        .isEqualTo("rgb(15, 19, 23)");
  }

  @Test
  void drain_isAsked_andDone() throws Exception {
    signIn(12, FakeAdmin.KEY, 1280, "light");
    go("overview?worker=vllm-4");
    browser.click("[data-drain]");
    assertThat(browser.text("dialog")).contains("Drain vllm-4?", "Nothing new goes there");
    assertThat(admin.changes()).isEmpty();
    browser.click("dialog [data-agree]");
    browser.until("document.querySelector('[data-drawer] .mark').innerText == 'draining'");
    assertThat(admin.changes()).containsExactly("POST workers/vllm-4/drain");
    browser.click("[data-drain]");
    browser.click("dialog [data-agree]");
    browser.until("document.querySelector('[data-drawer] .mark').innerText == 'healthy'");
    assertThat(admin.changes()).endsWith("POST workers/vllm-4/undrain");
  }

  @Test
  void viewersKey_showsNoButtonThatChanges() throws Exception {
    signIn(12, FakeAdmin.VIEWER_KEY, 1280, "light");
    go("overview?worker=vllm-4");
    browser.until("document.querySelector('[data-drawer] .history')");
    browser.until("document.querySelector('[data-demo]')");
    assertThat(browser.text(".status .who")).contains("ada", "read only");
    assertThat(browser.script("return document.querySelectorAll('[data-drain], [data-demo-switch]').length").asInt())
        .isZero();
    go("profiles");
    assertThat(browser.text("main")).doesNotContain("Reload from the files");
    go("explain");
    browser.click("[data-explain]");
    assertThat(browser.text(".compare")).contains("expected-cost");
    assertThat(admin.changes()).isEmpty();
  }

  @Test
  void charts_beginWithWhatWasBeforeThePageWasOpened() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.until("window.known >= " + FakeFleet.PAST
        + " || (import('./live.js').then(live => { window.known = live.samples.length; }), false)");
    browser.until("document.querySelectorAll('.chart canvas').length == 4");
    assertThat(imported("live.js", """
        String(f.samples.every((sample, i) => i == 0 || sample.at >= f.samples[i - 1].at)
          && f.samples[0].at < Date.now() / 1000 - 800)""")).isEqualTo("true");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void page_isDrawnByWhatIsNew_notByEverySignOfLife() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.script("""
        return import('./live.js').then(({ live }) => {
          window.drawn = 0;
          window.rounds = new Set();
          live.follow(({ topics }) => { drawn++; rounds.add(topics.vitals?.time); });
        })""");
    browser.until("rounds.size == 4");
    assertThat(browser.script("return drawn").asInt()).isLessThanOrEqualTo(8);
  }

  @Test
  void nodeWithoutFigures_isNamed_besideThoseThatHaveThem() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    assertThat(browser.text(".heading p")).contains("Traffic of 2 of 3 nodes");
    assertThat(browser.text("section[aria-label='By node']")).contains(
        "10.0.9.1:7625", "62 %", "1.61 s", "10.0.9.2:7625", "38 %", "10.0.9.3:7625 no figures");
    go("cluster");
    assertThat(browser.text("main table")).contains("10.0.9.3:7625 no figures", "1 d 1 h", "38 %");
    go("tenants");
    browser.until("document.querySelector('main table')");
    assertThat(browser.text("main")).contains("Traffic of 2 of 3 nodes by tenant", "no figures of 10.0.9.3:7625");
  }

  @Test
  void movesBeforeThePageWasOpened_areShown() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    go("cluster");
    browser.until("document.querySelector('section[aria-label=Moves] tbody')");
    assertThat(browser.text("section[aria-label=Moves] tbody"))
        .contains("qwen3-32b", "10.0.9.3:7625", "10.0.9.2:7625", "its home was lost");
    assertThat(browser.script("return document.querySelectorAll('section[aria-label=Moves] tbody tr').length").asInt())
        .isEqualTo(1);
    go("log?kind=move");
    assertThat(browser.text("main tbody")).contains("moved from 10.0.9.3:7625 to 10.0.9.2:7625");
  }

  @Test
  void demosTraffic_isSwitched() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.click("[data-demo-switch]");
    browser.until("document.querySelector('[data-demo=running]')");
    assertThat(admin.changes()).containsExactly("POST demo {\"running\":true,\"rate\":5}");
  }

  @Test
  void wrongKey_isToldSo_andSigningOutForgetsTheRightOne() throws Exception {
    signIn(4, "a-wrong-key", 1280, "light");
    assertThat(browser.text(".fault")).isEqualTo("this key is none of this router's");
    browser.type("#key", FakeAdmin.KEY + ENTER);
    browser.until("document.querySelector('.vitals')");
    browser.script("[...document.querySelectorAll('button')].find(each => each.innerText == 'Sign out').click()");
    browser.until("document.querySelector('#key')");
    assertThat(browser.script("return sessionStorage.length + localStorage.length").asInt()).isZero();
  }

  /** Otherwise what a page still says while the next is opened would be that one's fault. */
  @Test
  void pageThatWasOpen_isNotHeardAnyMore() throws Exception {
    signIn(1, FakeAdmin.KEY, 1280, "light");
    browser.script("""
        setInterval(() => console.error('still here'), 0);
        (function again() { fetch('../admin/workers').then(again, again); })()""");
    signIn(1, FakeAdmin.KEY, 1280, "light");
    go("cluster");
    assertThat(browser.complaints()).isEmpty();
  }

  @Test
  void lostStream_isMarked_andFoundAgain() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.until("document.querySelector('.liveness.live')");
    admin.refuseStreams(true);
    browser.until("document.querySelector('.liveness.lost')");
    assertThat(browser.text(".liveness")).contains("Not live since");
    browser.screenshot("lost");
    admin.refuseStreams(false);
    browser.script("[...document.querySelectorAll('button')].find(each => each.innerText == 'Try now').click()");
    browser.until("document.querySelector('.liveness.live')");
  }

  @Test
  void everyPage_hasOneStream_aHiddenTabNone() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    for (String page : List.of("sources", "cluster", "tenants", "log", "overview")) {
      go(page);
      await("one stream of " + page, () -> admin.streams() == 1);
    }
    hide(true);
    await("no stream of a hidden tab", () -> admin.streams() == 0);
    hide(false);
    await("a stream again", () -> admin.streams() == 1);
    browser.until("document.querySelector('.liveness.live')");
  }

  private static void hide(boolean hidden) {
    browser.script("""
        Object.defineProperty(document, 'hidden', { value: arguments[0] === 'true', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))""", Boolean.toString(hidden));
  }

  @Test
  void keyThatIsWithdrawn_endsTheSession() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.until("document.querySelector('.liveness.live')");
    admin.withdrawKeys();
    assertThat(browser.text(".fault")).isEqualTo("this key is none of this router's");
    assertThat(browser.script("return sessionStorage.length").asInt()).isZero();
  }

  @Test
  void firstTab_isASkipLink() throws Exception {
    signIn(4, FakeAdmin.KEY, 1280, "light");
    browser.script("document.activeElement.blur()");
    browser.press(TAB);
    assertThat(browser.script("return document.activeElement.innerText").asText()).isEqualTo("Skip to the page");
    browser.press(ENTER);
    assertThat(browser.script("return document.activeElement.id").asText()).isEqualTo("main");
  }

  /** The examples of RFC 7396, appendix A, in which a member or more is patched. */
  @Test
  void patches_areMerged() throws Exception {
    signIn(1, FakeAdmin.KEY, 1280, "light");
    assertThat(imported("merge.js", """
        JSON.stringify([
          f.merged({'a':'b'}, {'b':'c'}),
          f.merged({'a':'b'}, {'a':null}),
          f.merged({'a':'b','b':'c'}, {'a':null}),
          f.merged({'a':['b']}, {'a':'c'}),
          f.merged({'a':'c'}, {'a':['b']}),
          f.merged({'a':{'b':'c'}}, {'a':{'b':'d','c':null}}),
          f.merged({'a':[{'b':'c'}]}, {'a':[1]}),
          f.merged(['a','b'], ['c','d']),
          f.merged({'a':'b'}, ['c']),
          f.merged({'e':null}, {'a':1}),
          f.merged([1,2], {'a':'b','c':null}),
          f.merged({}, {'a':{'bb':{'ccc':null}}})])"""))
        .isEqualTo("""
            [{'a':'b','b':'c'},\
            {},\
            {'b':'c'},\
            {'a':'c'},\
            {'a':['b']},\
            {'a':{'b':'d'}},\
            {'a':[1]},\
            ['c','d'],\
            ['c'],\
            {'e':null,'a':1},\
            {'a':'b'},\
            {'a':{'bb':{}}}]""".replace('\'', '"'));
  }

  @Test
  void figures_haveUnits() throws Exception {
    signIn(1, FakeAdmin.KEY, 1280, "light");
    assertThat(imported("format.js", """
        [f.count(12345), f.count(9999), f.short(12345), f.short(4560000), f.rate(0.5), f.percent(0.0833),
         f.percent(0.5), f.millis(0.43), f.millis(83.4), f.millis(1240), f.millis(185000), f.millis(7800000),
         f.millis(273600000), f.count(null), f.percent(undefined), f.millis(0 / 0)].join('; ')"""))
        .isEqualTo("12,345; 9,999; 12.3k; 4.56M; 0.5/s; 8.3 %; 50 %;"
            + " 0.4 ms; 83 ms; 1.24 s; 3 min 5 s; 2 h 10 min; 3 d 4 h; –; –; –");
  }

  /** What an expression gives in which {@code f} is one of the console's modules. */
  private static String imported(String module, String expression) {
    return browser.script(
        "return import('./%s').then(f => %s)".formatted(module, expression)).asText();
  }

  private void signIn(int workers, String key, int width, String scheme) throws IOException {
    admin.show(new FakeFleet(workers));
    browser.open(admin.console(), width, scheme);
    browser.until("document.querySelector('#key')");
    browser.type("#key", key);
    browser.click("form .primary");
    browser.until("document.querySelector('.vitals, .fault')");
    // The browser itself complains of the first answer, which wants a key.
    assertThat(browser.complaints()).allMatch(complaint -> complaint.contains("/admin/session"));
  }

  /** Goes to a page, and waits until it is whole. */
  private static void go(String page) {
    browser.script("location.hash = '#/' + arguments[0]", page);
    browser.until(
        "document.querySelector(`[data-page=${arguments[0]}]`)"
            + " && !document.querySelector('main [aria-busy], .liveness.connecting')",
        page.replaceFirst("[/?].*", ""));
  }

  private static String focused() {
    return browser.script("return document.activeElement.dataset.worker").asText();
  }
}
