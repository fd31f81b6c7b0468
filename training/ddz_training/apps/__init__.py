"""What people start: the command line, the page, the demo, Botzone's matches."""
