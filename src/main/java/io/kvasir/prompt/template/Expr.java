package io.kvasir.prompt.template;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An expression of a template's syntax tree, with its evaluation. */
sealed interface Expr {
  /**
   * The expression's value. An expression enters the context while it evaluates its operands, so it is a step and a
   * level of nesting; constants and variables are not, since what they are operands of is.
   */
  @Nullable Object eval(Frame frame);

  /** The same value, but a text that is put together here may be a {@link Rope}. */
  default @Nullable Object evalRope(Frame frame) {
    return eval(frame);
  }

  /** A constant. */
  record Const(@Nullable Object value) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      return value;
    }
  }

  /** A variable; the name is interned. */
  record Name(String name) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      return Rope.whole(frame.render().budget(), frame.get(name));
    }

    @Override
    public @Nullable Object evalRope(Frame frame) {
      return frame.get(name);
    }
  }

  /** {@code [a, b]}, or {@code (a, b)}. */
  record Sequence(List<Expr> elements, boolean tuple) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.elements(elements.size());
      render.enter();
      @Nullable Object[] values = new Object[elements.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = elements.get(i).eval(frame);
      }
      render.leave();
      return tuple ? Tuple.of(values) : new ArrayList<>(Tuple.of(values));
    }
  }

  /** {@code {key: value}}. */
  record Dict(List<Expr> keys, List<Expr> values) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Map<@Nullable Object, @Nullable Object> dict = new LinkedHashMap<>();
      for (int i = 0; i < keys.size(); i++) {
        Values.put(render, dict, keys.get(i).eval(frame), values.get(i).eval(frame));
      }
      render.leave();
      return dict;
    }
  }

  /** {@code value if condition else otherwise}. */
  record Condition(Expr condition, Expr value, @Nullable Expr otherwise) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      return Rope.whole(frame.render().budget(), evalRope(frame));
    }

    @Override
    public @Nullable Object evalRope(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Expr chosen = Values.truth(condition.evalRope(frame)) ? value : otherwise;
      Object result = chosen != null ? chosen.evalRope(frame) : Undefined.because(
          "the inline if-expression evaluated to false and no else section was defined");
      render.leave();
      return result;
    }
  }

  /** {@code not value}. */
  record Not(Expr value) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      boolean truth = Values.truth(value.evalRope(frame));
      render.leave();
      return !truth;
    }
  }

  /** {@code left and right}, or {@code or}: the operand that decides. */
  record Logic(boolean and, Expr left, Expr right) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object value = left.eval(frame);
      Object result = Values.truth(value) == and ? right.eval(frame) : value;
      render.leave();
      return result;
    }
  }

  /** {@code -value} or {@code +value}. */
  record Sign(boolean minus, Expr value) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object number = value.eval(frame);
      render.leave();
      return minus ? NumberOperators.negate(number) : NumberOperators.negate(NumberOperators.negate(number));
    }
  }

  /** {@code + - * / // % **}. */
  record Arithmetic(String operator, Expr left, Expr right) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object a = left.eval(frame);
      Object b = right.eval(frame);
      render.leave();
      return Operators.apply(render, operator, a, b);
    }

    @Override
    public @Nullable Object evalRope(Frame frame) {
      if (!operator.equals("+")) {
        return eval(frame);
      }
      RenderContext render = frame.render();
      render.enter();
      Object a = left.evalRope(frame);
      Object b = right.evalRope(frame);
      render.leave();
      return a != null && b != null && Rope.isText(a) && Rope.isText(b) ? Rope.of(render.budget(), a, b)
          : Operators.apply(render, operator, Rope.whole(render.budget(), a), Rope.whole(render.budget(), b));
    }
  }

  /** {@code a ~ b ~ c}. */
  record Concat(List<Expr> parts) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.steps(parts.size());
      render.enter();
      String[] texts = new String[parts.size()];
      long length = 0;
      for (int i = 0; i < texts.length; i++) {
        Object part = parts.get(i).eval(frame);
        if (part instanceof Markup && render.escapes()) {
          return safe(frame, texts, i, part);
        }
        texts[i] = Values.str(render, part);
        length += texts[i].length();
      }
      render.leave();
      render.reserve(length);
      return String.join("", texts);
    }

    @Override
    public Object evalRope(Frame frame) {
      RenderContext render = frame.render();
      if (render.escapes()) {
        return eval(frame);
      }
      render.steps(parts.size());
      render.enter();
      Object[] texts = new Object[parts.size()];
      long length = 0;
      for (int i = 0; i < texts.length; i++) {
        Object part = parts.get(i).evalRope(frame);
        texts[i] = part instanceof Rope ? part : Values.str(render, part);
        length += Rope.length(texts[i]);
      }
      render.leave();
      if (length < Rope.SHORTEST) {
        render.reserve(length);
        return String.join("", Arrays.copyOf(texts, texts.length, String[].class));
      }
      Object text = texts[0];
      for (int i = 1; i < texts.length; i++) {
        text = Rope.of(render.budget(), text, texts[i]);
      }
      return text;
    }

    /** In HTML, with a safe text at {@code at}: the others are escaped, as they then are safe together. */
    private Markup safe(Frame frame, String[] texts, int at, Object part) {
      RenderContext render = frame.render();
      for (int i = 0; i < at; i++) {
        texts[i] = Markup.escape(render.budget(), texts[i]);
      }
      long length = 0;
      for (int i = at; i < texts.length; i++) {
        texts[i] = Values.safe(render, i == at ? part : parts.get(i).eval(frame));
        length += texts[i].length();
      }
      render.leave();
      render.reserve(length);
      return new Markup(String.join("", texts));
    }
  }

  /** {@code a < b <= c}: each neighbouring pair must compare so. */
  record Compare(Expr first, List<String> operators, List<Expr> rest) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.steps(operators.size());
      render.enter();
      boolean holds = true;
      Object left = first.eval(frame);
      for (int i = 0; holds && i < operators.size(); i++) {
        Object right = rest.get(i).eval(frame);
        holds = Operators.compare(render, operators.get(i), left, right);
        left = right;
      }
      render.leave();
      return holds;
    }
  }

  /** {@code value.name}. */
  record Attribute(Expr value, String name) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object owner = value.eval(frame);
      render.leave();
      return Rope.whole(render.budget(), Attributes.get(render, owner, name));
    }

    @Override
    public @Nullable Object evalRope(Frame frame) {
      if (!(value instanceof Name)) {
        return eval(frame);
      }
      RenderContext render = frame.render();
      render.step();
      return Attributes.get(render, value.eval(frame), name);
    }
  }

  /** {@code value[index]}. */
  record Item(Expr value, Expr index) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object owner = value.eval(frame);
      Object key = index.eval(frame);
      render.leave();
      return Values.item(render, owner, key);
    }
  }

  /** {@code value[start:stop:step]}. */
  record Slice(Expr value, @Nullable Expr start, @Nullable Expr stop, @Nullable Expr step) implements Expr {
    @Override
    public Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object whole = value.eval(frame);
      Long from = bound(start, frame);
      Long to = bound(stop, frame);
      Long by = bound(step, frame);
      render.leave();
      return Operators.slice(render, whole, from, to, by);
    }

    private static @Nullable Long bound(@Nullable Expr expr, Frame frame) {
      Object value = expr == null ? null : expr.eval(frame);
      return value == null ? null : value instanceof BigInteger big ? (Long) (big.signum() * Long.MAX_VALUE)
          : (Long) Numbers.integer(value);
    }
  }

  /** {@code callee(arguments)}. */
  record Call(Expr callee, CallArguments arguments) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      return call(frame, null);
    }

    /** With the body of a call block, if there is one. */
    @Nullable Object call(Frame frame, @Nullable Macro caller) {
      RenderContext render = frame.render();
      render.enter();
      Object result;
      if (callee instanceof Attribute(Expr value, String name)) {
        Object self = value.eval(frame);
        result = Attributes.call(render, self, name, withCaller(frame, caller));
      } else {
        Object function = callee.eval(frame);
        result = Expr.call(render, function, withCaller(frame, caller));
      }
      render.leave();
      return result;
    }

    private Arguments withCaller(Frame frame, @Nullable Macro caller) {
      Arguments evaluated = arguments.eval(frame);
      return caller == null ? evaluated : evaluated.with(frame.render(), "caller", caller);
    }
  }

  /** Calls a value. */
  static @Nullable Object call(RenderContext render, @Nullable Object function, Arguments arguments) {
    return switch (function) {
      case Callable callable -> callable.call(render, arguments);
      case Undefined undefined -> throw undefined.refused();
      case null, default -> throw new TemplateException.Evaluation(
          "'" + Values.typeName(function) + "' object is not callable");
    };
  }

  /** {@code value | filter(arguments)}; {@code filter} is null where the language has none of that name. */
  record Filter(@Nullable Expr value, String name, Filters.@Nullable Filter filter, CallArguments arguments)
      implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      RenderContext render = frame.render();
      render.enter();
      Object result = apply(frame, value == null ? null : value.eval(frame));
      render.leave();
      return result;
    }

    @Nullable Object apply(Frame frame, @Nullable Object input) {
      RenderContext render = frame.render();
      render.step();
      if (filter == null) {
        throw Filters.unknown(name);
      }
      return filter.apply(render, input, arguments.eval(frame));
    }
  }

  /** {@code value is test(arguments)}. */
  record Test(Expr value, String name, Tests.@Nullable Test test, CallArguments arguments) implements Expr {
    @Override
    public Object eval(Frame frame) {
      if (test == null) {
        throw Tests.unknown(name);
      }
      RenderContext render = frame.render();
      render.enter();
      boolean passes = test.apply(render, value.eval(frame), arguments.eval(frame));
      render.leave();
      return passes;
    }
  }

  /** The arguments of a call as written; {@code star} and {@code starStar} are {@code *list} and {@code **dict}. */
  record CallArguments(List<Expr> positional, List<String> names, List<Expr> named, @Nullable Expr star,
      @Nullable Expr starStar) {
    static final CallArguments NONE = new CallArguments(List.of(), List.of(), List.of(), null, null);

    Arguments eval(Frame frame) {
      if (positional.isEmpty() && names.isEmpty() && star == null && starStar == null) {
        return Arguments.NONE;
      }
      frame.render().steps(positional.size() + names.size());
      @Nullable Object[] values = new Object[positional.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = positional.get(i).eval(frame);
      }
      if (star != null) {
        List<@Nullable Object> all = new ArrayList<>(Tuple.of(values));
        List<@Nullable Object> more = Values.list(frame.render(), star.eval(frame));
        frame.render().elements(more.size());
        all.addAll(more);
        values = all.toArray();
      }
      return new Arguments(values, keywords(frame));
    }

    private Map<String, @Nullable Object> keywords(Frame frame) {
      if (names.isEmpty() && starStar == null) {
        return Map.of();
      }
      Map<String, @Nullable Object> keywords = new LinkedHashMap<>();
      for (int i = 0; i < names.size(); i++) {
        keywords.put(names.get(i), named.get(i).eval(frame));
      }
      if (starStar != null) {
        if (!(starStar.eval(frame) instanceof Map<?, ?> map)) {
          throw new TemplateException.Evaluation("argument after ** must be a mapping");
        }
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          String name = Values.text(entry.getKey());
          if (name == null) {
            throw new TemplateException.Evaluation("keywords must be strings");
          }
          frame.render().elements(2);
          frame.render().read(name.length());
          keywords.put(name, entry.getValue());
        }
      }
      return keywords;
    }
  }
}
