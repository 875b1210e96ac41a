package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The format of message contents that a template reads: one text, or the API's list of parts.
 *
 * <p>vLLM detects it from the template ({@code --chat-template-content-format auto}): a template with a loop over the
 * content of an element of {@code messages} reads parts, any other reads text. The detection follows assignments,
 * filters, tests and slices; it ignores scopes.
 */
public enum ContentFormat {
  /** Text; the parts of a list are joined by newlines. */
  STRING,
  /** Parts: {@code [{"type": "text", "text": …}, …]}, also for a plain text. */
  OPENAI;

  static ContentFormat of(Stmt.Block root) {
    List<Stmt.Set> sets = new ArrayList<>();
    List<Stmt.For> loops = new ArrayList<>();
    collect(root, sets, loops);
    Set<String> lists = renamed("messages", sets);
    Set<String> messages = new HashSet<>();
    for (Stmt.For loop : loops) {
      if (loop.target() instanceof Stmt.Target.Variable(String name)
          && lists.stream().anyMatch(list -> reads(loop.elements(), list, null))) {
        messages.add(name);
      }
    }
    for (Stmt.For loop : loops) {
      if (messages.stream().anyMatch(message -> reads(loop.elements(), message, "content"))) {
        return OPENAI;
      }
    }
    return STRING;
  }

  /** The variable and all that it, or a part of it, is assigned to. */
  private static Set<String> renamed(String variable, List<Stmt.Set> sets) {
    Set<String> names = new HashSet<>(Set.of(variable));
    boolean grew;
    do {
      grew = false;
      for (Stmt.Set set : sets) {
        if (set.target() instanceof Stmt.Target.Variable(String name)
            && List.copyOf(names).stream().anyMatch(known -> reads(set.value(), known, null))) {
          grew |= names.add(name);
        }
      }
    } while (grew);
    return names;
  }

  /** Whether the expression is the variable, or its entry {@code key}, behind filters, tests and slices. */
  private static boolean reads(Expr expr, String variable, @Nullable String key) {
    return switch (expr) {
      case Expr.Filter filter -> filter.value() != null && reads(filter.value(), variable, key);
      case Expr.Test test -> reads(test.value(), variable, key);
      case Expr.Slice slice -> reads(slice.value(), variable, key);
      case Expr.Name(String name) -> key == null && name.equals(variable);
      case Expr.Attribute(Expr value, String name) -> name.equals(key) && reads(value, variable);
      case Expr.Item(Expr value, Expr.Const(Object index)) -> key != null && key.equals(index)
          && reads(value, variable);
      default -> false;
    };
  }

  private static boolean reads(Expr expr, String variable) {
    return expr instanceof Expr.Name(String name) && name.equals(variable);
  }

  private static void collect(Stmt.Block block, List<Stmt.Set> sets, List<Stmt.For> loops) {
    for (Stmt stmt : block.statements()) {
      switch (stmt) {
        case Stmt.Set set -> sets.add(set);
        case Stmt.For loop -> {
          loops.add(loop);
          collect(loop.body(), sets, loops);
          if (loop.orElse() != null) {
            collect(loop.orElse(), sets, loops);
          }
        }
        case Stmt.If branches -> branches.bodies().forEach(body -> collect(body, sets, loops));
        case Stmt.SetBlock set -> collect(set.body(), sets, loops);
        case Stmt.FilterBlock filter -> collect(filter.body(), sets, loops);
        case Stmt.With with -> collect(with.body(), sets, loops);
        case Stmt.Define macro -> collect(macro.definition().body(), sets, loops);
        case Stmt.CallBlock call -> collect(call.caller().body(), sets, loops);
        case Stmt.Generation generation -> collect(generation.body(), sets, loops);
        case Stmt.Data data -> {
          // Text.
        }
        case Stmt.Print print -> {
          // No names are made here.
        }
        case Stmt.Jump jump -> {
          // Nor here.
        }
      }
    }
  }
}
