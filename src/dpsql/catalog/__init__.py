"""WHAT WE KNOW ABOUT THE SOURCE: tables, columns, who owns rows, and what the owner of the data promises."""
