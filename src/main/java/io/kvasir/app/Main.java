package io.kvasir.app;

/** The {@code kvasir} command. */
public final class Main {
  private Main() {}

  /** Runs a command and exits with its status. */
  public static void main(String[] args) {
    System.out.println("kvasir " + Main.class.getPackage().getImplementationVersion());
  }
}
