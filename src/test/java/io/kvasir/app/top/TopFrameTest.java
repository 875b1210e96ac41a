package io.kvasir.app.top;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.terminal.Palette;
import io.kvasir.app.terminal.TerminalSize;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class TopFrameTest {
  private static final TerminalSize CLASSIC = TerminalSize.CLASSIC;

  @ParameterizedTest
  @CsvSource({"80,24", "200,60", "132,43", "40,10", "20,5", "7,3", "1,1"})
  void frame_fillsTheScreenAndNoMore(int columns, int lines) {
    for (TopView.Parts parts : TopView.Parts.values()) {
      for (int workers : new int[] {0, 1, 8, 256, 1000}) {
        TopView view = new TopView(WorkerFigure.IN_FLIGHT, ListOrder.FIGURE, false, parts, 0);
        List<String> frame = plain(Fleets.of(workers), view, new TerminalSize(columns, lines));
        assertThat(frame).as("%s, %d workers", parts, workers).hasSize(lines);
        assertThat(frame).as("%s, %d workers", parts, workers).allMatch(line -> line.length() <= columns);
      }
    }
  }

  @Test
  void classicScreen_hasTheFigures() {
    assertThat(String.join("\n", plain(Fleets.of(8), TopView.INITIAL, CLASSIC)))
        .contains("kvasir 1.2.3 10.0.0.5:7355", "nodes 2/3", "workers 7/8", "draining 1", "silent 1")
        .contains("requests/s 1235", "errors/s 0", "refused/s 0.2", "in flight 345", "ttft p50 123 ms", "events/s 12k")
        .contains("prompt tokens/s 1.2M", "delivered 61 %", "promised 63 %", "best 70 %", "ever 82 %", "regret 12 %")
        .doesNotContain("p90")
        .contains("! node 10.0.0.7:7355 is unreachable: look whether it runs")
        .contains("cell-3 ▄█", ">FLIGHT PENDING", "vllm-7/0", "q quit");
  }

  @Test
  void narrowScreen_losesNoVitalFigure() {
    assertThat(String.join("\n", plain(Fleets.of(8), TopView.INITIAL, new TerminalSize(30, 40))))
        .contains("workers 7/8", "refused/s 0.2", "in flight 345", "events/s 12k", "delivered 61 %", "regret 12 %");
  }

  @Test
  void thousandWorkers_areOnAClassicScreenAtOnce() {
    ObjectNode calm = Fleets.vitals();
    calm.putArray("problems");
    TopView map = new TopView(WorkerFigure.PENDING, ListOrder.FIGURE, false, TopView.Parts.MAP, 0);
    FleetSnapshot fleet = new FleetSnapshot(calm, Fleets.of(1000).workers());
    long tiles =
        plain(fleet, map, CLASSIC).stream()
            .filter(line -> line.startsWith("cell-"))
            .mapToLong(line -> line.chars().filter(c -> c == '·').count())
            .sum();
    assertThat(tiles).isEqualTo(1000);
  }

  @Test
  void mapThatIsTooLong_isScrolled() {
    TopView top = new TopView(WorkerFigure.IN_FLIGHT, ListOrder.FIGURE, false, TopView.Parts.MAP, 0);
    FleetSnapshot fleet = Fleets.of(1000);
    TerminalSize small = new TerminalSize(60, 14);
    assertThat(plain(fleet, top, small)).anyMatch(line -> line.matches("\\d+ more workers"));
    TopView end = top.after(TopKey.Scroll.TO_END, 1000, 10);
    assertThat(plain(fleet, end, small)).noneMatch(line -> line.contains("more workers"))
        .anyMatch(line -> line.startsWith("cell-3"));
  }

  @Test
  void list_isSortedByTheFigureTheNameAndTheState() {
    FleetSnapshot fleet = Fleets.of(30);
    ((ObjectNode) fleet.workers().get(4)).put("health", "unhealthy").put("why", "probe timed out");
    assertThat(firstOfList(fleet, TopView.INITIAL)).startsWith("vllm-29/0");
    assertThat(firstOfList(fleet, pressed(TopView.INITIAL, new TopKey.Reverse()))).startsWith("vllm-0/0");
    TopView names = pressed(TopView.INITIAL, new TopKey.Sort(ListOrder.NAME));
    assertThat(firstOfList(fleet, names)).startsWith("vllm-0/0");
    TopView states = pressed(TopView.INITIAL, new TopKey.Sort(ListOrder.STATE));
    assertThat(firstOfList(fleet, states)).startsWith("vllm-4/0").contains("unhealthy");
    assertThat(firstOfList(fleet, pressed(TopView.INITIAL, TopKey.Scroll.DOWN))).startsWith("vllm-28/0");
  }

  @Test
  void figuresThatAreNotKnown_areLeftOut() {
    ObjectNode bare = Fleets.worker("bare", "c", 3);
    bare.remove(List.of("engine_reports", "cache_fill", "promises", "trust"));
    String line = firstOfList(new FleetSnapshot(Fleets.vitals(), List.of(bare)), TopView.INITIAL);
    assertThat(line).matches("bare\\s+serving\\s+3\\s+0");
  }

  @Test
  void workersThatAreDownOrLeaving_standOutInTheMap() {
    FleetSnapshot fleet = Fleets.of(8);
    ((ObjectNode) fleet.workers().get(1)).put("health", "wedged");
    ((ObjectNode) fleet.workers().get(2)).put("draining", true);
    List<String> frame = plain(fleet, TopView.INITIAL, CLASSIC);
    assertThat(frame).anyMatch(line -> line.startsWith("cell-1 !")).anyMatch(line -> line.startsWith("cell-2 d"));
  }

  @Test
  void namesFromOutside_areTextOnly() {
    List<JsonNode> workers = List.of(Fleets.worker("evil\u001b[2J\u0007\n\u202e漢/0", "cell\u001b]0;x\u0007", 1));
    List<String> frame = plain(new FleetSnapshot(Fleets.vitals(), workers), TopView.INITIAL, new TerminalSize(120, 30));
    assertThat(String.join("", frame)).contains("evil?[2J????/0").doesNotContain("\u001b", "\u0007", "\n", "\u202e");
  }

  @Test
  void colours_onlyWhereThereAreSome() {
    List<String> coloured =
        new TopFrame(CLASSIC, true).screen(Fleets.of(8), TopView.INITIAL, "").stream()
            .map(line -> line.show(Palette.WIDE))
            .toList();
    assertThat(String.join("", coloured)).contains("\u001b[");
    assertThat(String.join("", plain(Fleets.of(8), TopView.INITIAL, CLASSIC))).doesNotContain("\u001b");
  }

  @Test
  void terminalWithoutSymbols_getsAscii() {
    List<String> ascii =
        new TopFrame(CLASSIC, false).screen(Fleets.of(64), TopView.INITIAL, "").stream()
            .map(line -> line.show(Palette.NONE))
            .toList();
    assertThat(String.join("", ascii).chars()).allMatch(c -> c >= ' ' && c < 127);
  }

  @Test
  void routerThatDoesNotAnswer_isSaidAboveItsLastFigures() {
    List<String> frame =
        new TopFrame(CLASSIC, true).screen(Fleets.of(2), TopView.INITIAL, "the figures are old").stream()
            .map(line -> line.show(Palette.NONE))
            .toList();
    assertThat(frame).contains("! the figures are old").anyMatch(line -> line.startsWith("vllm-1/0"));
  }

  private static TopView pressed(TopView view, TopKey key) {
    return view.after(key, 30, 5);
  }

  private static String firstOfList(FleetSnapshot fleet, TopView view) {
    List<String> frame = plain(fleet, view, CLASSIC);
    int heading = frame.indexOf(frame.stream().filter(line -> line.startsWith("WORKER")).findFirst().orElseThrow());
    return frame.get(heading + 1);
  }

  private static List<String> plain(FleetSnapshot fleet, TopView view, TerminalSize size) {
    return new TopFrame(size, true)
        .screen(fleet, view, "").stream().map(line -> line.show(Palette.NONE)).toList();
  }
}
