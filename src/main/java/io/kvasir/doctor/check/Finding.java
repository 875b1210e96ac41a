package io.kvasir.doctor.check;

/**
 * A fault that a check has found.
 *
 * @param check the check's name
 * @param severity how bad it is
 * @param subject the engine, model, node or file that has it
 * @param problem what is wrong
 * @param why it matters, one sentence
 * @param remedy the flag or line that mends it
 */
public record Finding(
    String check, Severity severity, String subject, String problem, String why, String remedy) {}
