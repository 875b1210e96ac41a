package io.kvasir.prompt.template;

import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A statement of a template's syntax tree, with its execution. */
sealed interface Stmt {
  /** The outcome of a statement: continue with the next one, or leave the innermost loop's body. */
  enum Flow {
    NEXT,
    BREAK,
    CONTINUE
  }

  Flow run(Frame frame);

  /** Statements one after another, which may be the body of a scope. Not changed once the template is parsed. */
  final class Block {
    private final List<Stmt> statements;
    /** The statements' lines, for errors. */
    private final int[] lines;
    private List<String> unassigned = List.of();
    private List<Undefined> undefined = List.of();

    Block(List<Stmt> statements, int[] lines) {
      this.statements = statements;
      this.lines = lines;
    }

    List<Stmt> statements() {
      return statements;
    }

    /** Sets the names that a scope with this body begins without a value, whatever they are outside: {@link Scopes}. */
    void unassigned(List<String> names) {
      unassigned = List.copyOf(names);
      undefined = unassigned.stream().map(Undefined::variable).toList();
    }

    /** Begins a scope that has this body; {@code scope} is new. */
    void declare(Frame scope) {
      for (int i = 0; i < unassigned.size(); i++) {
        scope.set(unassigned.get(i), undefined.get(i));
      }
    }

    /** Runs the body of a scope, from its beginning. */
    Flow runIn(Frame scope) {
      declare(scope);
      return run(scope);
    }

    Flow run(Frame frame) {
      RenderContext render = frame.render();
      int i = 0;
      try {
        render.enter();
        for (; i < lines.length; i++) {
          render.step();
          Flow flow = statements.get(i).run(frame);
          if (flow != Flow.NEXT) {
            render.leave();
            return flow;
          }
        }
        render.leave();
        return Flow.NEXT;
      } catch (TemplateException e) {
        if (i < lines.length) {
          e.at(lines[i]);
        }
        throw e;
      }
    }
  }

  /** Literal text. */
  record Data(String text) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      frame.render().print(text);
      return Flow.NEXT;
    }
  }

  /** {@code {{ value }}}. */
  record Print(Expr value) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      frame.render().write(value.evalRope(frame));
      return Flow.NEXT;
    }
  }

  /** {@code if … elif … else}: a body per condition, and one more for else. */
  record If(List<Expr> conditions, List<Block> bodies) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      for (int i = 0; i < conditions.size(); i++) {
        if (Values.truth(conditions.get(i).evalRope(frame))) {
          return bodies.get(i).run(frame);
        }
      }
      return bodies.size() > conditions.size() ? bodies.getLast().run(frame) : Flow.NEXT;
    }
  }

  /** {@code for target in elements if condition recursive … else …}. */
  record For(Target target, Expr elements, @Nullable Expr condition, boolean recursive, Block body,
      @Nullable Block orElse) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      loop(frame, elements.eval(frame), 0);
      return Flow.NEXT;
    }

    void loop(Frame outer, @Nullable Object over, int depth) {
      Iterator<@Nullable Object> elements = Values.iterate(over);
      Loop loop = condition == null
          ? new Loop(this, outer, depth, elements, Values.sizeOrNone(outer.render(), over))
          : new Loop(this, outer, depth, filtered(elements, condition, outer), -1);
      boolean completed = false;
      while (loop.hasNext()) {
        Frame frame = new Frame(outer);
        target.assign(frame, loop.next());
        frame.set("loop", loop);
        outer.render().step();
        Flow flow = body.runIn(frame);
        if (flow == Flow.BREAK) {
          break;
        }
        completed |= flow == Flow.NEXT;
      }
      // Jinja2 notes at a turn's end that there was one, which break and continue leave out.
      if (!completed && orElse != null) {
        orElse.runIn(new Frame(outer));
      }
    }

    private Iterator<@Nullable Object> filtered(Iterator<@Nullable Object> elements, Expr condition, Frame outer) {
      return Generator.of(outer.render(), elements, element -> {
        Frame frame = new Frame(outer);
        target.assign(frame, element);
        return Values.truth(condition.eval(frame)) ? element : Generator.SKIP;
      }).rest();
    }
  }

  /** {@code set target = value}. */
  record Set(Target target, Expr value) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      target.assign(frame, value.evalRope(frame));
      return Flow.NEXT;
    }
  }

  /** {@code set target | filter … endset}: the body's text. */
  record SetBlock(Target target, Expr.@Nullable Filter filter, Block body) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      Frame inner = new Frame(frame);
      Object text = frame.render().capture(() -> body.runIn(inner));
      target.assign(frame, filter == null ? text : applied(filter, frame, Rope.whole(frame.render().budget(), text)));
      return Flow.NEXT;
    }
  }

  /** {@code filter name … endfilter}. */
  record FilterBlock(Expr.Filter filter, Block body) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      Frame inner = new Frame(frame);
      Object text = Rope.whole(frame.render().budget(), frame.render().capture(() -> body.runIn(inner)));
      frame.render().write(applied(filter, inner, text));
      return Flow.NEXT;
    }
  }

  /** A chain of filters, the first of which has no value of its own, on a text. */
  private static @Nullable Object applied(Expr.Filter filter, Frame frame, @Nullable Object text) {
    return filter.value() instanceof Expr.Filter first
        ? filter.apply(frame, applied(first, frame, text))
        : filter.apply(frame, text);
  }

  /** {@code with name = value … endwith}. */
  record With(List<Target> targets, List<Expr> values, Block body) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      Frame inner = new Frame(frame);
      for (int i = 0; i < targets.size(); i++) {
        targets.get(i).assign(inner, values.get(i).eval(frame));
      }
      return body.runIn(inner);
    }
  }

  /** {@code block name}: a body that reads the template's own variables, and those of loops around it if scoped. */
  record NamedBlock(String name, boolean scoped, boolean required, Block body) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      if (required) {
        throw new TemplateException.Evaluation("the required block '" + name + "' is not overridden");
      }
      body.runIn(new Frame(scoped ? frame : frame.assignedAtTop()));
      return Flow.NEXT;
    }
  }

  /** {@code autoescape enabled}: what is printed inside is HTML, in which texts that are not safe are escaped. */
  record Autoescape(Expr enabled, Block body) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      RenderContext render = frame.render();
      boolean around = render.escapes();
      render.escapes(Values.truth(enabled.eval(frame)));
      Flow flow = body.runIn(new Frame(frame));
      render.escapes(around);
      return flow;
    }
  }

  /** {@code macro name(…) … endmacro}. */
  record Define(String name, Macro.Definition definition) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      frame.set(name, new Macro(definition, frame));
      return Flow.NEXT;
    }
  }

  /** {@code call(…) macro(…) … endcall}. */
  record CallBlock(Expr.Call call, Macro.Definition caller) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      frame.render().write(call.call(frame, new Macro(caller, frame)));
      return Flow.NEXT;
    }
  }

  /** {@code generation … endgeneration}: marks an answer for training; only its scope matters here. */
  record Generation(Block body) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      body.runIn(new Frame(frame));
      return Flow.NEXT;
    }
  }

  /** {@code break} or {@code continue}. */
  record Jump(Flow flow) implements Stmt {
    @Override
    public Flow run(Frame frame) {
      return flow;
    }
  }

  /** The target of an assignment. */
  sealed interface Target {
    void assign(Frame frame, @Nullable Object value);

    /** A variable. */
    record Variable(String name) implements Target {
      @Override
      public void assign(Frame frame, @Nullable Object value) {
        frame.set(name, value);
      }
    }

    /** A namespace's attribute. */
    record Member(String namespace, String name) implements Target {
      @Override
      public void assign(Frame frame, @Nullable Object value) {
        if (!(frame.get(namespace) instanceof Namespace target)) {
          throw new TemplateException.Evaluation("cannot assign attribute on non-namespace object");
        }
        target.set(name, value);
      }
    }

    /** Several, one for each element of the value. */
    record Unpack(List<Target> targets) implements Target {
      @Override
      public void assign(Frame frame, @Nullable Object value) {
        Iterator<@Nullable Object> elements = Values.iterate(value);
        frame.render().steps(targets.size());
        for (int i = 0; i < targets.size(); i++) {
          if (!elements.hasNext()) {
            throw new TemplateException.Evaluation(
                "not enough values to unpack (expected " + targets.size() + ", got " + i + ")");
          }
          targets.get(i).assign(frame, elements.next());
        }
        if (elements.hasNext()) {
          throw new TemplateException.Evaluation("too many values to unpack (expected " + targets.size() + ")");
        }
      }
    }
  }
}
