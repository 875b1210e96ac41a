package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * The statements and expressions of a template on which its {@link ContentUse} depends, in the order in which they
 * stand.
 */
final class Statements {
  private final List<Stmt.Set> sets = new ArrayList<>();
  private final List<Stmt.For> loops = new ArrayList<>();
  /** The macros around the loops that are in one, the innermost last. */
  private final IdentityHashMap<Stmt.For, List<Stmt.Define>> inMacros = new IdentityHashMap<>();
  private final List<Stmt.Define> macros = new ArrayList<>();
  private final List<Expr> expressions = new ArrayList<>();
  private boolean marked;
  /** The macros around the current place. */
  private List<Stmt.Define> around = List.of();

  private Statements() {}

  static Statements of(Stmt.Block root) {
    Statements statements = new Statements();
    statements.collect(root);
    return statements;
  }

  List<Stmt.Set> sets() {
    return sets;
  }

  List<Stmt.For> loops() {
    return loops;
  }

  List<Stmt.Define> macros() {
    return macros;
  }

  /** The macros around a loop, the innermost last. */
  List<Stmt.Define> macros(Stmt.For loop) {
    return inMacros.getOrDefault(loop, List.of());
  }

  /** The expressions of statements; they have others in them. */
  List<Expr> expressions() {
    return expressions;
  }

  /** Whether answers are marked in {@code generation} blocks. */
  boolean marked() {
    return marked;
  }

  private void collect(Stmt.Block block) {
    for (Stmt stmt : block.statements()) {
      switch (stmt) {
        case Stmt.Set set -> {
          sets.add(set);
          expressions.add(set.value());
        }
        case Stmt.For loop -> loop(loop);
        case Stmt.If branches -> {
          expressions.addAll(branches.conditions());
          branches.bodies().forEach(this::collect);
        }
        case Stmt.SetBlock set -> {
          if (set.filter() != null) {
            expressions.add(set.filter());
          }
          collect(set.body());
        }
        case Stmt.FilterBlock filter -> {
          expressions.add(filter.filter());
          collect(filter.body());
        }
        case Stmt.With with -> {
          expressions.addAll(with.values());
          collect(with.body());
        }
        case Stmt.Define macro -> macro(macro);
        case Stmt.CallBlock call -> {
          expressions.add(call.call());
          expressions.addAll(call.caller().defaults());
          collect(call.caller().body());
        }
        case Stmt.Generation generation -> {
          marked = true;
          collect(generation.body());
        }
        case Stmt.NamedBlock named -> collect(named.body());
        case Stmt.Autoescape escape -> {
          expressions.add(escape.enabled());
          collect(escape.body());
        }
        case Stmt.Print print -> expressions.add(print.value());
        case Stmt.Data data -> {
          // Text.
        }
        case Stmt.Jump jump -> {
          // No names.
        }
      }
    }
  }

  private void loop(Stmt.For loop) {
    loops.add(loop);
    if (!around.isEmpty()) {
      inMacros.put(loop, around);
    }
    expressions.add(loop.elements());
    if (loop.condition() != null) {
      expressions.add(loop.condition());
    }
    collect(loop.body());
    if (loop.orElse() != null) {
      collect(loop.orElse());
    }
  }

  private void macro(Stmt.Define macro) {
    macros.add(macro);
    expressions.addAll(macro.definition().defaults());
    List<Stmt.Define> outside = around;
    List<Stmt.Define> inside = new ArrayList<>(outside);
    inside.add(macro);
    around = List.copyOf(inside);
    collect(macro.definition().body());
    around = outside;
  }
}
