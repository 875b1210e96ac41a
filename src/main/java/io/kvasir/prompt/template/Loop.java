package io.kvasir.prompt.template;

import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The {@code loop} of a for statement, which also drives it; an element is read ahead only if the body needs it. */
final class Loop implements Callable {
  private final Stmt.For statement;
  private final Frame outer;
  private final int depth;
  private Iterator<@Nullable Object> elements;
  /** How many there are; -1 while not known. */
  private int length;
  private int index0 = -1;
  private @Nullable Object previous;
  private @Nullable Object current;
  private @Nullable List<@Nullable Object> lastChanged;

  Loop(Stmt.For statement, Frame outer, int depth, Iterator<@Nullable Object> elements, int length) {
    this.statement = statement;
    this.outer = outer;
    this.depth = depth;
    this.elements = new LookAhead(elements);
    this.length = length;
  }

  boolean hasNext() {
    return elements.hasNext();
  }

  @Nullable Object next() {
    previous = current;
    current = elements.next();
    index0++;
    return current;
  }

  private int length() {
    if (length < 0) {
      List<@Nullable Object> rest = Values.list(outer.render(), new Generator(elements));
      length = index0 + 1 + rest.size();
      elements = new LookAhead(rest.iterator());
    }
    return length;
  }

  @Nullable Object attribute(String name) {
    return switch (name) {
      case "index" -> index0 + 1L;
      case "index0" -> (long) index0;
      case "first" -> index0 == 0;
      case "last" -> !elements.hasNext();
      case "length" -> (long) length();
      case "revindex" -> (long) length() - index0;
      case "revindex0" -> (long) length() - index0 - 1;
      case "depth" -> depth + 1L;
      case "depth0" -> (long) depth;
      case "previtem" -> index0 == 0 ? Undefined.because("there is no previous item") : previous;
      case "nextitem" -> elements.hasNext() ? ((LookAhead) elements).peek()
          : Undefined.because("there is no next item");
      case "cycle" -> (Callable) (render, arguments) -> {
        if (arguments.size() == 0) {
          throw new TemplateException.Evaluation("no items for cycling given");
        }
        return arguments.get(index0 % arguments.size());
      };
      case "changed" -> (Callable) (render, arguments) -> {
        List<@Nullable Object> values = Tuple.of(arguments.positional());
        boolean changed = lastChanged == null || !Values.equal(render, lastChanged, values);
        lastChanged = values;
        return changed;
      };
      default -> Undefined.member(this, name);
    };
  }

  /** {@code loop(children)}: the same statement again, one level down. */
  @Override
  public @Nullable Object call(RenderContext render, Arguments arguments) {
    if (!statement.recursive()) {
      throw new TemplateException.Evaluation("the loop must have the 'recursive' marker to be called recursively");
    }
    Object children = arguments.bind("loop", List.of("iterable")).get(0);
    return Rope.whole(render.budget(), render.capture(() -> statement.loop(outer, children, depth + 1)));
  }

  @Override
  public String toString() {
    return "<LoopContext " + (index0 + 1) + "/" + length() + ">";
  }

  /** One element of look-ahead. */
  private static final class LookAhead implements Iterator<@Nullable Object> {
    private final Iterator<@Nullable Object> source;
    private @Nullable Object next;
    private boolean peeked;

    LookAhead(Iterator<@Nullable Object> source) {
      this.source = source;
    }

    @Nullable Object peek() {
      if (!peeked) {
        next = source.next();
        peeked = true;
      }
      return next;
    }

    @Override
    public boolean hasNext() {
      return peeked || source.hasNext();
    }

    @Override
    public @Nullable Object next() {
      Object element = peek();
      peeked = false;
      next = null;
      return element;
    }
  }
}
