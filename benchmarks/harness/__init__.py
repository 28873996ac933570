"""What every benchmark measures with: data, a fresh process, clocks and memory, tables and pictures."""
