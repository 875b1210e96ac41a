package io.kvasir.app.top;

import io.kvasir.app.admin.AdminClient;
import io.kvasir.app.admin.AdminFailedException;
import io.kvasir.app.admin.AdminOptions;
import io.kvasir.app.terminal.FullScreen;
import io.kvasir.app.terminal.Palette;
import io.kvasir.app.terminal.StandardStream;
import io.kvasir.app.terminal.TerminalSize;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kvasir top}. */
@Command(
    name = "top",
    description = {
      "Shows a running router's vital figures and a heat map of its workers, every second anew.",
      "Where input or output is not a terminal it prints one frame."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    footer = {
      "",
      "Keys: q quits; f p w c k e b t choose the figure of the map, by which the list is sorted; n sorts it by",
      "name, s by state, r turns it round; Tab shows the map, the list, or both; arrows and Page keys scroll.",
      "NO_COLOR=1 in the environment does without colours."
    })
public final class TopCommand implements Callable<Integer> {
  /** The width of a frame that nobody has given one. */
  private static final TerminalSize UNKNOWN = new TerminalSize(120, TerminalSize.CLASSIC.lines());

  @Mixin private AdminOptions options = new AdminOptions();

  @Option(names = "--once", description = "Print one frame with all workers, and no more.")
  private boolean once;

  @Option(
      names = "--sort",
      paramLabel = "FIGURE",
      defaultValue = "in-flight",
      description = "The figure to begin with (${DEFAULT-VALUE}): ${COMPLETION-CANDIDATES}.")
  private WorkerFigure sort = WorkerFigure.IN_FLIGHT;

  @Override
  public Integer call() throws AdminFailedException, InterruptedException {
    try (AdminClient client = options.client()) {
      FleetSnapshot first = FleetSnapshot.of(client);
      TopView view = TopView.INITIAL.by(sort);
      if (options.json()) {
        System.out.println(first.json().toPrettyString());
      } else if (once || !isInteractive() || !follow(client, first, view)) {
        print(first, view);
      }
    }
    return 0;
  }

  private static boolean isInteractive() {
    String terminal = System.getenv().getOrDefault("TERM", "dumb");
    return StandardStream.INPUT.isTerminal() && StandardStream.OUTPUT.isTerminal() && !terminal.equals("dumb");
  }

  /** Shows frames until somebody has seen enough; false where the terminal does not do that. */
  private static boolean follow(AdminClient client, FleetSnapshot first, TopView view) throws InterruptedException {
    Charset charset = System.out.charset();
    try (FullScreen screen = FullScreen.open(charset)) {
      new TopScreen(client, screen, Palette.of(System.getenv()), isWide(charset)).run(first, view);
      return true;
    } catch (IOException unusable) {
      System.err.println("kvasir: the terminal cannot be used as a screen (" + unusable.getMessage() + ")");
      return false;
    }
  }

  private static void print(FleetSnapshot fleet, TopView view) {
    boolean terminal = StandardStream.OUTPUT.isTerminal();
    Palette palette = terminal ? Palette.of(System.getenv()) : Palette.NONE;
    new TopFrame(width(), isWide(System.out.charset()))
        .whole(fleet, view)
        .forEach(line -> System.out.println(line.show(palette)));
  }

  private static TerminalSize width() {
    if (StandardStream.INPUT.isTerminal() && StandardStream.OUTPUT.isTerminal()) {
      try {
        return FullScreen.size();
      } catch (IOException untold) {
        return UNKNOWN;
      }
    }
    String columns = System.getenv().getOrDefault("COLUMNS", "");
    return columns.matches("[1-9]\\d{1,3}") ? new TerminalSize(Integer.parseInt(columns), 1) : UNKNOWN;
  }

  /** Whether a charset has the characters of the heat map. */
  private static boolean isWide(Charset charset) {
    return charset.equals(StandardCharsets.UTF_8);
  }
}
