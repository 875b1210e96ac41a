package io.kvasir.app.top;

import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;

/** What a pressed key means. */
sealed interface TopKey {
  /** It ends the command. */
  record Quit() implements TopKey {}

  /** It moves the list. */
  enum Scroll implements TopKey {
    UP,
    DOWN,
    PAGE_UP,
    PAGE_DOWN,
    TO_TOP,
    TO_END;

    /** How many lines down, for a page of so many. */
    int lines(int page) {
      return switch (this) {
        case UP -> -1;
        case DOWN -> 1;
        case PAGE_UP -> -page;
        case PAGE_DOWN -> page;
        case TO_TOP -> -1_000_000;
        case TO_END -> 1_000_000;
      };
    }
  }

  /** It chooses the figure of the map, by which the list is sorted. */
  record Choose(WorkerFigure figure) implements TopKey {}

  /** It sorts the list. */
  record Sort(ListOrder order) implements TopKey {}

  /** It turns the list round. */
  record Reverse() implements TopKey {}

  /** It shows the map, the list, or both. */
  record NextParts() implements TopKey {}

  /** It means nothing. */
  record Other() implements TopKey {}

  /** Waits for the next key of a terminal; {@link Quit} at the end of input. */
  static TopKey read(InputStream in) throws IOException {
    int key = in.read();
    return switch (key) {
      case -1, 'q', 'Q' -> new Quit();
      case '\t' -> new NextParts();
      case ' ' -> Scroll.PAGE_DOWN;
      case 'j' -> Scroll.DOWN;
      case 'n' -> new Sort(ListOrder.NAME);
      case 's' -> new Sort(ListOrder.STATE);
      case 'r' -> new Reverse();
      case '\u001b' -> escape(in);
      default -> {
        Optional<WorkerFigure> figure = WorkerFigure.of(key);
        yield figure.isPresent() ? new Choose(figure.get()) : new Other();
      }
    };
  }

  /** An escape sequence: {@code ESC [} and {@code ESC O}, parameters, and a last character that says what it is. */
  private static TopKey escape(InputStream in) throws IOException {
    int introducer = in.read();
    if (introducer != '[' && introducer != 'O') {
      return new Other();
    }
    StringBuilder parameters = new StringBuilder();
    int last = in.read();
    while (last >= '0' && last <= '?') {
      parameters.append((char) last);
      last = in.read();
    }
    return switch (last) {
      case 'A' -> Scroll.UP;
      case 'B' -> Scroll.DOWN;
      case 'H' -> Scroll.TO_TOP;
      case 'F' -> Scroll.TO_END;
      case '~' -> switch (parameters.toString()) {
        case "1", "7" -> Scroll.TO_TOP;
        case "4", "8" -> Scroll.TO_END;
        case "5" -> Scroll.PAGE_UP;
        case "6" -> Scroll.PAGE_DOWN;
        default -> new Other();
      };
      default -> new Other();
    };
  }
}
